// The family mixtral: transformers models/mixtral/modeling_mixtral.py, Mistral's layer with experts.
#include "model/layers/decoder_layer.hpp"
#include "model/network/modules.hpp"

namespace vramfit::families {

using namespace model;

extern const Family mixtral_entry;
const Family mixtral_entry = {
    .model_type = "mixtral",
    .compared = {.tensor_parallelism = true},
    .norm = llama_norm,
    .layer = pre_norm_layer,
    .one_mask = true,
    .split_plan = SplitPlan::experts,
    .positions_before_tables = true,
};

}  // namespace vramfit::families
