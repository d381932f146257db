// The family starcoder2: Starcoder2Config.
#include "spec/config_family.hpp"

namespace vramfit::configs {

namespace {

ModelSpec starcoder2_defaults() {
    ModelSpec m;
    m.vocab_size = 49152;
    m.hidden_size = 3072;
    m.intermediate_size = 12288;
    m.num_hidden_layers = 30;
    m.num_attention_heads = 24;
    m.num_key_value_heads = 2;
    m.max_position_embeddings = 4096;
    m.hidden_act = Activation::gelu_tanh;
    m.tie_word_embeddings = true;
    m.attention_bias = true;
    m.output_bias = true;
    m.mlp_bias = true;
    return m;
}

void read_starcoder2(ObjectReader& config, ModelSpec& model) {
    constexpr RealRange kRate = {.low = 0, .high = 1};
    read_activation(config, model, "hidden_act");
    if (const auto bias = config.boolean("use_bias")) model.attention_bias = model.output_bias = model.mlp_bias = *bias;
    read_window_of_all(config, model);
    ObjectReader::set(model.residual_dropout, config.real("residual_dropout", kRate));
    ObjectReader::set(model.embedding_dropout, config.real("embedding_dropout", kRate));
}

// modeling_starcoder2.py, Starcoder2MLP and Starcoder2DecoderLayer: no gate, norms of mean and variance.
void starcoder2_layer(const ModelSpec& m, LayerModules& layer) {
    separate_attention(m, layer);
    layer.other("mlp");
    layer.linear(ModulePart::up, "mlp.c_fc", m.hidden_size, m.intermediate_size, m.mlp_bias);
    layer.linear(ModulePart::down, "mlp.c_proj", m.intermediate_size, m.hidden_size, m.mlp_bias);
    layer.other("mlp.act");
    layer.norm(ModulePart::input_norm, "input_layernorm", m.hidden_size, true);
    layer.norm(ModulePart::post_attention_norm, "post_attention_layernorm", m.hidden_size, true);
}

}  // namespace

extern const ConfigFamily starcoder2_entry;
const ConfigFamily starcoder2_entry = {
    .model_type = "starcoder2",
    .layer_class = "Starcoder2DecoderLayer",
    .since = {4, 39, 0},
    .heads_divide_hidden = false,
    .null_head_dim = true,
    .defaults = starcoder2_defaults,
    .read = read_starcoder2,
    .layer = starcoder2_layer,
    .names = {.norm_bias = true},
    .exact_since = {5, 0, 0},
};

}  // namespace vramfit::configs
