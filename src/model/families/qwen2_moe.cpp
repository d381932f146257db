// The family qwen2_moe: transformers models/qwen2_moe/modeling_qwen2_moe.py, Qwen 2 with experts and one that all see.
#include "model/layers/decoder_layer.hpp"
#include "model/network/modules.hpp"

namespace vramfit::families {

using namespace model;

extern const Family qwen2_moe_entry;
const Family qwen2_moe_entry = {
    .model_type = "qwen2_moe",
    .compared = {.tensor_parallelism = true},
    .norm = llama_norm,
    .layer = pre_norm_layer,
    .masks_from_dictionary = true,
    .positions_before_tables = true,
};

}  // namespace vramfit::families
