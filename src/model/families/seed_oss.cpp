// The family seed_oss: transformers models/seed_oss/modeling_seed_oss.py.
#include "model/layers/decoder_layer.hpp"
#include "model/network/modules.hpp"

namespace vramfit::families {

using namespace model;

extern const Family seed_oss_entry;
const Family seed_oss_entry = {.model_type = "seed_oss",
                               .compared = {.context_parallelism = true, .tensor_parallelism = true},
                               .norm = llama_norm,
                               .layer = pre_norm_layer,
                               .mlp = dropped_gated_mlp,
                               .attention_drops = true};

}  // namespace vramfit::families
