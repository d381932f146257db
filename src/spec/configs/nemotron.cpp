// The family nemotron: NemotronConfig.
#include "spec/config_family.hpp"

namespace vramfit::configs {

namespace {

ModelSpec nemotron_defaults() {
    ModelSpec m;
    m.vocab_size = 256000;
    m.hidden_size = 6144;
    m.intermediate_size = 24576;
    m.num_hidden_layers = 32;
    m.num_attention_heads = 48;
    m.max_position_embeddings = 4096;
    m.hidden_act = Activation::relu2;
    m.partial_rotary_factor = 0.5;  // NemotronConfig.__post_init__
    return m;
}

void read_nemotron(ObjectReader& config, ModelSpec& model) {
    read_activation(config, model, "hidden_act");
    read_attention_bias(config, model);
    ObjectReader::set(model.mlp_bias, config.boolean("mlp_bias"));
    read_partial_rotary(config, model, "partial_rotary_factor");
}

// modeling_nemotron.py, NemotronMLP and NemotronDecoderLayer: no gate, norms of mean and variance.
void nemotron_layer(const ModelSpec& m, LayerModules& layer) {
    separate_attention(m, layer);
    layer.other("mlp");
    layer.linear(ModulePart::up, "mlp.up_proj", m.hidden_size, m.intermediate_size, m.mlp_bias);
    layer.linear(ModulePart::down, "mlp.down_proj", m.intermediate_size, m.hidden_size, m.mlp_bias);
    layer.other("mlp.act_fn");
    layer.norm(ModulePart::input_norm, "input_layernorm", m.hidden_size, true);
    layer.norm(ModulePart::post_attention_norm, "post_attention_layernorm", m.hidden_size, true);
}

}  // namespace

extern const ConfigFamily nemotron_entry;
const ConfigFamily nemotron_entry = {
    .model_type = "nemotron",
    .layer_class = "NemotronDecoderLayer",
    .since = {4, 44, 0},
    .heads_divide_hidden = false,
    .null_head_dim = true,
    .defaults = nemotron_defaults,
    .read = read_nemotron,
    .layer = nemotron_layer,
    .names = {.norm_bias = true},
    .exact_since = {5, 16, 0},
};

}  // namespace vramfit::configs
