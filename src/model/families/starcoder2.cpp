// The family starcoder2: transformers models/starcoder2/modeling_starcoder2.py.
#include "model/layers/decoder_layer.hpp"
#include "model/network/modules.hpp"

namespace vramfit::families {

using namespace model;

extern const Family starcoder2_entry;
const Family starcoder2_entry = {
    .model_type = "starcoder2",
    .compared = {.tensor_parallelism = true},
    .norm = layer_norm,
    .layer = pre_norm_layer,
    .mlp = dropped_mlp,
    .attention_drops = true,
    .one_mask = true,
    .positions_before_tables = true,
};

}  // namespace vramfit::families
