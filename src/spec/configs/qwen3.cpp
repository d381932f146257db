// The family qwen3: Qwen3Config.
#include "spec/config_family.hpp"

namespace vramfit::configs {

namespace {

ModelSpec qwen3_defaults() {
    ModelSpec m;
    m.vocab_size = 151936;
    m.hidden_size = 4096;
    m.intermediate_size = 22016;
    m.num_hidden_layers = 32;
    m.num_attention_heads = 32;
    m.num_key_value_heads = 32;
    m.head_dim = 128;
    m.max_position_embeddings = 32768;
    return m;
}

void read_qwen3(ObjectReader& config, ModelSpec& model) {
    read_activation(config, model, "hidden_act");
    read_attention_bias(config, model);
    read_qwen_window(config, model);
}

// modeling_qwen3.py, Qwen3Attention: q_norm and k_norm of head_dim.
void qwen3_layer(const ModelSpec& m, LayerModules& layer) {
    separate_attention(m, layer, {m.head_dim, m.head_dim});
    gated_mlp(m, layer);
    layer.norm(ModulePart::input_norm, "input_layernorm", m.hidden_size);
    layer.norm(ModulePart::post_attention_norm, "post_attention_layernorm", m.hidden_size);
}

}  // namespace

extern const ConfigFamily qwen3_entry;
const ConfigFamily qwen3_entry = {
    .model_type = "qwen3",
    .layer_class = "Qwen3DecoderLayer",
    .since = {4, 51, 0},
    .heads_divide_hidden = false,
    .null_head_dim = false,
    .defaults = qwen3_defaults,
    .read = read_qwen3,
    .layer = qwen3_layer,
};

}  // namespace vramfit::configs
