// The family mistral: transformers models/mistral/modeling_mistral.py, Llama's layer with a window in the mask.
#include "model/layers/decoder_layer.hpp"
#include "model/network/modules.hpp"

namespace vramfit::families {

using namespace model;

namespace {

RotaryModules mistral_rotary(const Stack& stack) {
    if (!stack.attention_in_classes()) return {};
    const bool caches = stack.mistral_caches_rotary_tables();
    return {.decoder = false, .layers = true, .caches = caches, .by_position = caches};
}

std::optional<Size> mistral_window(const Run& run) { return run.spec.sliding_window; }

}  // namespace

extern const Family mistral_entry;
const Family mistral_entry = {
    .model_type = "mistral",
    .compared = {.context_parallelism = true, .tensor_parallelism = true},
    .norm = llama_norm,
    .layer = pre_norm_layer,
    .one_mask = true,
    .rotary_modules = mistral_rotary,
    .converts_masks = true,
    .flash_repeats_heads = true,
    .additive_window = mistral_window,
    .positions_before_tables = true,
};

}  // namespace vramfit::families
