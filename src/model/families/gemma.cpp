// The family gemma: transformers models/gemma/modeling_gemma.py.
#include "model/layers/decoder_layer.hpp"
#include "model/network/modules.hpp"

namespace vramfit::families {

using namespace model;

namespace {

RotaryModules gemma_rotary(const Stack& stack) {
    if (!stack.attention_in_classes()) return {};
    return {.decoder = false, .layers = true, .late = stack.gemma_makes_frequencies_late()};
}

}  // namespace

extern const Family gemma_entry;
const Family gemma_entry = {
    .model_type = "gemma",
    .compared = {.context_parallelism = true, .tensor_parallelism = true},
    .norm = gemma_norm,
    .layer = pre_norm_layer,
    .scales_embedding = true,
    .rotary_modules = gemma_rotary,
    .positions_before_tables = true,
};

}  // namespace vramfit::families
