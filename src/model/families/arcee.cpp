// The family arcee: transformers models/arcee/modeling_arcee.py.
#include "model/layers/decoder_layer.hpp"
#include "model/network/modules.hpp"

namespace vramfit::families {

using namespace model;

extern const Family arcee_entry;
const Family arcee_entry = {.model_type = "arcee",
                            .compared = {.context_parallelism = true, .tensor_parallelism = true},
                            .norm = llama_norm,
                            .layer = pre_norm_layer,
                            .mlp = plain_mlp};

}  // namespace vramfit::families
