// The family qwen2: transformers models/qwen2/modeling_qwen2.py, Llama's layer with biases on q, k and v.
#include "model/decoder_layer.hpp"
#include "model/modules.hpp"

namespace vramfit::families {

using namespace model;

extern const Family qwen2_entry;
const Family qwen2_entry = {
    .model_type = "qwen2",
    .norm = llama_norm,
    .layer = pre_norm_layer,
    .old_rotary = OldRotary::tables,
    .converts_masks = true,
};

}  // namespace vramfit::families
