// The family mistral: MistralConfig.
#include "spec/config_family.hpp"

namespace vramfit::configs {

namespace {

ModelSpec mistral_defaults() {
    ModelSpec m;
    m.vocab_size = 32000;
    m.hidden_size = 4096;
    m.intermediate_size = 14336;
    m.num_hidden_layers = 32;
    m.num_attention_heads = 32;
    m.num_key_value_heads = 8;
    m.max_position_embeddings = 4096 * 32;
    m.sliding_window = 4096;
    return m;
}

// No biases anywhere (modeling_mistral.py). A window, if there is one, holds in every layer: MistralModel.forward
// makes one mask for all.
void read_mistral(ObjectReader& config, ModelSpec& model) {
    read_activation(config, model, "hidden_act");
    read_window_of_all(config, model);
}

}  // namespace

extern const ConfigFamily mistral_entry;
const ConfigFamily mistral_entry = {
    .model_type = "mistral",
    .layer_class = "MistralDecoderLayer",
    .since = {4, 34, 0},
    .heads_divide_hidden = false,
    .null_head_dim = true,
    .defaults = mistral_defaults,
    .read = read_mistral,
    .layer = llama_layer,
};

}  // namespace vramfit::configs
