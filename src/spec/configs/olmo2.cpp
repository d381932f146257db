// The family olmo2: Olmo2Config.
#include "spec/config_family.hpp"

namespace vramfit::configs {

namespace {

ModelSpec olmo2_defaults() {
    ModelSpec m;
    m.vocab_size = 50304;
    m.hidden_size = 4096;
    m.intermediate_size = 11008;
    m.num_hidden_layers = 32;
    m.num_attention_heads = 32;
    m.max_position_embeddings = 2048;
    m.pad_token_id = 1;
    return m;
}

void read_olmo2(ObjectReader& config, ModelSpec& model) {
    read_activation(config, model, "hidden_act");
    read_attention_bias(config, model);
}

// modeling_olmo2.py, Olmo2Attention and Olmo2DecoderLayer: norms of all heads together, and none before attention.
void olmo2_layer(const ModelSpec& m, LayerModules& layer) {
    separate_attention(m, layer, {m.num_attention_heads * m.head_dim, m.num_key_value_heads * m.head_dim});
    gated_mlp(m, layer);
    layer.norm(ModulePart::post_attention_norm, "post_attention_layernorm", m.hidden_size);
    layer.norm(ModulePart::post_feedforward_norm, "post_feedforward_layernorm", m.hidden_size);
}

}  // namespace

extern const ConfigFamily olmo2_entry;
const ConfigFamily olmo2_entry = {
    .model_type = "olmo2",
    .layer_class = "Olmo2DecoderLayer",
    .since = {4, 47, 0},
    .heads_divide_hidden = false,
    .null_head_dim = false,
    .defaults = olmo2_defaults,
    .read = read_olmo2,
    .layer = olmo2_layer,
    .exact_since = {5, 0, 0},
};

}  // namespace vramfit::configs
