// The family llama: transformers models/llama/modeling_llama.py.
#include "model/decoder_layer.hpp"
#include "model/modules.hpp"

namespace vramfit::families {

using namespace model;

extern const Family llama_entry;
const Family llama_entry = {
    .model_type = "llama",
    .norm = llama_norm,
    .layer = pre_norm_layer,
};

}  // namespace vramfit::families
