// The family smollm3: transformers models/smollm3/modeling_smollm3.py, Llama's layer, of which some turn nothing.
#include "model/layers/decoder_layer.hpp"
#include "model/network/modules.hpp"

namespace vramfit::families {

using namespace model;

extern const Family smollm3_entry;
const Family smollm3_entry = {
    .model_type = "smollm3",
    .compared = {.context_parallelism = true, .tensor_parallelism = true},
    .norm = llama_norm,
    .layer = pre_norm_layer,
    .masks_from_dictionary = true,
};

}  // namespace vramfit::families
