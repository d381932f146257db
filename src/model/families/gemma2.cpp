// The family gemma2: transformers models/gemma2/modeling_gemma2.py.
#include "model/layers/decoder_layer.hpp"
#include "model/network/modules.hpp"

namespace vramfit::families {

using namespace model;

namespace {

RotaryModules gemma2_rotary(const Stack& stack) {
    return {.decoder = !stack.attention_in_classes(), .layers = stack.attention_in_classes()};
}

}  // namespace

extern const Family gemma2_entry;
const Family gemma2_entry = {
    .model_type = "gemma2",
    .compared = {.tensor_parallelism = true, .pipeline = false},
    .norm = gemma_norm,
    .layer = four_norm_layer,
    .scales_embedding = true,
    .rotary_modules = gemma2_rotary,
    .flash_knows_positions = false,
    .always_masks = true,
    .shape_logits = cap_logits,
    .masks_from_dictionary = true,
};

}  // namespace vramfit::families
