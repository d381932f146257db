// The attention that from_pretrained chooses where none is asked for.
#include "vramfit/spec/attention.hpp"

#include <algorithm>

#include "spec/network/document.hpp"

namespace vramfit {

// transformers 5.17.0, modeling_utils.py, get_correct_attn_implementation: falls back on eager where nothing is asked
// for.
AttentionImplementation default_attention(const ModelSpec& model) {
    const auto has = [&](std::string_view attention) {
        const auto& all = model.recording->variants;
        return std::any_of(all.begin(), all.end(),
                           [&](const network::Variant& variant) { return variant.attention == attention; });
    };
    const bool eager = model.recording ? !has("sdpa") && has("eager") : model.model_type == "gpt_oss";
    return eager ? AttentionImplementation::eager : AttentionImplementation::sdpa;
}

}  // namespace vramfit
