// The family mistral: transformers models/mistral/modeling_mistral.py, Llama's layer with a window in the mask.
#include "model/decoder_layer.hpp"
#include "model/modules.hpp"

namespace vramfit::families {

using namespace model;

extern const Family mistral_entry;
const Family mistral_entry = {
    .model_type = "mistral",
    .norm = llama_norm,
    .layer = pre_norm_layer,
    .one_mask = true,
    .old_rotary = OldRotary::tables,
    .converts_masks = true,
};

}  // namespace vramfit::families
