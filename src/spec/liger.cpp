// liger-kernel 0.8.5 transformers/monkey_patch.py.
#include "spec/liger.hpp"

#include <algorithm>
#include <iterator>

namespace vramfit {

bool has_liger(std::string_view model_type) {
    constexpr std::string_view kUnknown[] = {"arcee", "cohere",    "cohere2",  "gpt2",      "gpt_neox",
                                             "phi",   "qwen2_moe", "seed_oss", "starcoder2"};
    return std::find(std::begin(kUnknown), std::end(kUnknown), model_type) == std::end(kUnknown);
}

std::optional<LigerPatches> liger_patches(std::string_view model_type) {
    constexpr LigerPatches kPatches[] = {
        {"llama"},
        {"mistral"},
        {"phi3"},
        {"qwen2"},
        {"smollm3"},
        {"qwen3", true, true},
        {"gemma"},
        {"gemma2", true, false, false, false},
        {"gemma3_text", true, true, false, false},
        {"glm4", false, false, false, false},
        {"olmo2", true, false, false, true},
    };
    const auto* const found = std::find_if(std::begin(kPatches), std::end(kPatches),
                                           [&](const LigerPatches& each) { return each.model_type == model_type; });
    return found == std::end(kPatches) ? std::nullopt : std::optional(*found);
}

}  // namespace vramfit
