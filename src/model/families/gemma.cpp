// The family gemma: transformers models/gemma/modeling_gemma.py.
#include "model/decoder_layer.hpp"
#include "model/modules.hpp"

namespace vramfit::families {

using namespace model;

extern const Family gemma_entry;
const Family gemma_entry = {
    .model_type = "gemma",
    .norm = gemma_norm,
    .layer = pre_norm_layer,
    .scales_embedding = true,
    .old_rotary = OldRotary::late_frequencies,
};

}  // namespace vramfit::families
