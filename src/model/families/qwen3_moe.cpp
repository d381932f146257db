// The family qwen3_moe: transformers models/qwen3_moe/modeling_qwen3_moe.py, Qwen 3's layer with experts.
#include "model/layers/decoder_layer.hpp"
#include "model/network/modules.hpp"

namespace vramfit::families {

using namespace model;

extern const Family qwen3_moe_entry;
const Family qwen3_moe_entry = {
    .model_type = "qwen3_moe",
    .compared = {.tensor_parallelism = true},
    .norm = llama_norm,
    .layer = pre_norm_layer,
    .one_mask = true,
    .split_plan = SplitPlan::experts,
    .positions_before_tables = true,
};

}  // namespace vramfit::families
