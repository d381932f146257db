// The family glm4: transformers models/glm4/modeling_glm4.py.
#include "model/layers/decoder_layer.hpp"
#include "model/network/modules.hpp"

namespace vramfit::families {

using namespace model;

extern const Family glm4_entry;
const Family glm4_entry = {
    .model_type = "glm4",
    .compared = {.context_parallelism = true, .tensor_parallelism = true},
    .norm = llama_norm,
    .layer = four_norm_layer,
    .rotate = apply_rotary_of_neighbours,
    .mlp = fused_gated_mlp,
    .cuts = {.up = Cut::columns_gathered, .down = Cut::rows_split},
};

}  // namespace vramfit::families
