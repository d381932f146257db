// The family arcee: ArceeConfig.
#include "spec/config_family.hpp"

namespace vramfit::configs {

namespace {

ModelSpec arcee_defaults() {
    ModelSpec m;
    m.vocab_size = 32000;
    m.hidden_size = 2560;
    m.intermediate_size = 18432;
    m.num_hidden_layers = 32;
    m.num_attention_heads = 32;
    m.max_position_embeddings = 4096;
    m.hidden_act = Activation::relu2;
    return m;
}

void read_arcee(ObjectReader& config, ModelSpec& model) {
    read_activation(config, model, "hidden_act");
    read_attention_bias(config, model);
    ObjectReader::set(model.mlp_bias, config.boolean("mlp_bias"));
}

// modeling_arcee.py, ArceeMLP: no gate.
void arcee_layer(const ModelSpec& m, LayerModules& layer) {
    separate_attention(m, layer);
    layer.other("mlp");
    layer.linear(ModulePart::up, "mlp.up_proj", m.hidden_size, m.intermediate_size, m.mlp_bias);
    layer.linear(ModulePart::down, "mlp.down_proj", m.intermediate_size, m.hidden_size, m.mlp_bias);
    layer.other("mlp.act_fn");
    layer.norm(ModulePart::input_norm, "input_layernorm", m.hidden_size);
    layer.norm(ModulePart::post_attention_norm, "post_attention_layernorm", m.hidden_size);
}

}  // namespace

extern const ConfigFamily arcee_entry;
const ConfigFamily arcee_entry = {
    .model_type = "arcee",
    .layer_class = "ArceeDecoderLayer",
    .since = {4, 53, 0},
    .heads_divide_hidden = true,
    .null_head_dim = true,
    .defaults = arcee_defaults,
    .read = read_arcee,
    .layer = arcee_layer,
    .exact_since = {5, 0, 0},
};

}  // namespace vramfit::configs
