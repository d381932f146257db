// The family cohere: transformers models/cohere/modeling_cohere.py.
#include "model/decoder_layer.hpp"
#include "model/modules.hpp"

namespace vramfit::families {

using namespace model;

extern const Family cohere_entry;
const Family cohere_entry = {
    .model_type = "cohere",
    .norm = centred_norm,
    .layer = side_by_side_layer,
    .rotate = apply_rotary_in_float32,
    .shape_logits = scale_logits,
};

}  // namespace vramfit::families
