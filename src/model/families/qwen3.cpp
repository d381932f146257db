// The family qwen3: transformers models/qwen3/modeling_qwen3.py, Llama's layer with norms on q and k.
#include "model/layers/decoder_layer.hpp"
#include "model/network/modules.hpp"

namespace vramfit::families {

using namespace model;

extern const Family qwen3_entry;
const Family qwen3_entry = {
    .model_type = "qwen3",
    .compared = {.context_parallelism = true, .tensor_parallelism = true},
    .norm = llama_norm,
    .layer = pre_norm_layer,
    .masks_from_dictionary = true,
};

}  // namespace vramfit::families
