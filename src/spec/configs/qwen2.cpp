// The family qwen2 (also Qwen1.5 and Qwen2.5): Qwen2Config.
#include "spec/config_family.hpp"

namespace vramfit::configs {

namespace {

ModelSpec qwen2_defaults() {
    ModelSpec m;
    m.vocab_size = 151936;
    m.hidden_size = 4096;
    m.intermediate_size = 22016;
    m.num_hidden_layers = 32;
    m.num_attention_heads = 32;
    m.num_key_value_heads = 32;
    m.max_position_embeddings = 32768;
    m.attention_bias = true;  // modeling_qwen2.py, Qwen2Attention: bias=True on q, k, v and False on o; no switch
    return m;
}

void read_qwen2(ObjectReader& config, ModelSpec& model) {
    read_activation(config, model, "hidden_act");
    read_qwen_window(config, model);
}

}  // namespace

extern const ConfigFamily qwen2_entry;
const ConfigFamily qwen2_entry = {
    .model_type = "qwen2",
    .layer_class = "Qwen2DecoderLayer",
    .since = {4, 37, 0},
    .heads_divide_hidden = false,
    .null_head_dim = false,  // getattr(config, "head_dim", ...) would hand the null on
    .defaults = qwen2_defaults,
    .read = read_qwen2,
    .layer = llama_layer,
};

}  // namespace vramfit::configs
