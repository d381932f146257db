// The family qwen2: transformers models/qwen2/modeling_qwen2.py, Llama's layer with biases on q, k and v.
#include "model/layers/decoder_layer.hpp"
#include "model/network/modules.hpp"

namespace vramfit::families {

using namespace model;

namespace {

RotaryModules qwen2_rotary(const Stack& stack) {
    if (!stack.attention_in_classes()) return {};
    const bool caches = !stack.qwen2_shares_rotary_tables();
    return {.decoder = !caches, .layers = true, .caches = caches, .by_position = caches};
}

std::optional<Size> qwen2_window(const Run& run) {
    if (run.stack.unused_windows_are_masked() && !run.spec.sliding_window) return run.spec.unused_window;
    return run.stack.masks_are_converted() || run.stack.masks_of_qwen2_slide() ? run.spec.sliding_window : std::nullopt;
}

}  // namespace

extern const Family qwen2_entry;
const Family qwen2_entry = {
    .model_type = "qwen2",
    .compared = {.context_parallelism = true, .tensor_parallelism = true},
    .norm = llama_norm,
    .layer = pre_norm_layer,
    .rotary_modules = qwen2_rotary,
    .converts_masks = true,
    .flash_repeats_heads = true,
    .additive_window = qwen2_window,
    .masks_from_dictionary = true,
};

}  // namespace vramfit::families
