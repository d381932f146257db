// The family granite: GraniteConfig.
#include "spec/config_family.hpp"

namespace vramfit::configs {

namespace {

ModelSpec granite_defaults() {
    ModelSpec m;
    m.vocab_size = 32000;
    m.hidden_size = 4096;
    m.intermediate_size = 11008;
    m.num_hidden_layers = 32;
    m.num_attention_heads = 32;
    m.max_position_embeddings = 2048;
    return m;
}

// modeling_granite.py: biases as in Llama. The four multipliers are numbers; none changes what is allocated.
void read_granite(ObjectReader& config, ModelSpec& model) {
    read_activation(config, model, "hidden_act");
    read_attention_bias(config, model);
    ObjectReader::set(model.mlp_bias, config.boolean("mlp_bias"));
}

}  // namespace

extern const ConfigFamily granite_entry;
const ConfigFamily granite_entry = {
    .model_type = "granite",
    .layer_class = "GraniteDecoderLayer",
    .since = {4, 45, 0},
    .heads_divide_hidden = false,
    .null_head_dim = false,
    .defaults = granite_defaults,
    .read = read_granite,
    .layer = llama_layer,
    .exact_since = {5, 0, 0},
};

}  // namespace vramfit::configs
