// The family glm4: Glm4Config.
#include "spec/config_family.hpp"

namespace vramfit::configs {

namespace {

ModelSpec glm4_defaults() {
    ModelSpec m;
    m.vocab_size = 151552;
    m.hidden_size = 4096;
    m.intermediate_size = 13696;
    m.num_hidden_layers = 40;
    m.num_attention_heads = 32;
    m.num_key_value_heads = 2;
    m.head_dim = 128;
    m.max_position_embeddings = 131072;
    m.attention_bias = true;
    m.partial_rotary_factor = 0.5;  // Glm4Config.__post_init__
    m.pad_token_id = 151329;
    return m;
}

void read_glm4(ObjectReader& config, ModelSpec& model) {
    read_activation(config, model, "hidden_act");
    ObjectReader::set(model.attention_bias, config.boolean("attention_bias"));  // o_proj has none
    read_partial_rotary(config, model, "partial_rotary_factor");
}

// modeling_glm4.py, Glm4Attention, Glm4MLP and Glm4DecoderLayer: the norm before the MLP is post_attention_layernorm.
void glm4_layer(const ModelSpec& m, LayerModules& layer) {
    separate_attention(m, layer);
    joined_mlp(m, layer);
    layer.norm(ModulePart::input_norm, "input_layernorm", m.hidden_size);
    layer.norm(ModulePart::pre_feedforward_norm, "post_attention_layernorm", m.hidden_size);
    layer.norm(ModulePart::post_attention_norm, "post_self_attn_layernorm", m.hidden_size);
    layer.norm(ModulePart::post_feedforward_norm, "post_mlp_layernorm", m.hidden_size);
}

}  // namespace

extern const ConfigFamily glm4_entry;
const ConfigFamily glm4_entry = {
    .model_type = "glm4",
    .layer_class = "Glm4DecoderLayer",
    .since = {4, 51, 3},
    .heads_divide_hidden = false,
    .null_head_dim = false,
    .defaults = glm4_defaults,
    .read = read_glm4,
    .layer = glm4_layer,
    .exact_since = {5, 0, 0},
};

}  // namespace vramfit::configs
