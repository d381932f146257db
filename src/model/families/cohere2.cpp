// The family cohere2: transformers models/cohere2/modeling_cohere2.py, cohere's network of which some layers slide.
#include "model/layers/decoder_layer.hpp"
#include "model/network/modules.hpp"

namespace vramfit::families {

using namespace model;

extern const Family cohere2_entry;
const Family cohere2_entry = {
    .model_type = "cohere2",
    .compared = {.tensor_parallelism = true},
    .norm = centred_norm,
    .layer = side_by_side_layer,
    .rotate = apply_rotary_in_float32,
    .shape_logits = scale_logits,
    .tables_of_neighbours = true,
    .masks_from_dictionary = true,
};

}  // namespace vramfit::families
