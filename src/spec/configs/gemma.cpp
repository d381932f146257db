// The family gemma: GemmaConfig.
#include "spec/config_family.hpp"

namespace vramfit::configs {

namespace {

ModelSpec gemma_defaults() {
    ModelSpec m;
    m.vocab_size = 256000;
    m.hidden_size = 3072;
    m.intermediate_size = 24576;
    m.num_hidden_layers = 28;
    m.num_attention_heads = 16;
    m.num_key_value_heads = 16;
    m.head_dim = 256;
    m.max_position_embeddings = 8192;
    m.hidden_act = Activation::gelu_tanh;
    m.tie_word_embeddings = true;
    m.pad_token_id = 0;
    return m;
}

// modeling_gemma.py, GemmaMLP: 5.17.0 takes hidden_act; 4.40.2 took hidden_activation and, where that is null, the
// tanh form whatever hidden_act says. All of them are one GELU operator that saves its input: memory is the same.
void read_gemma(ObjectReader& config, ModelSpec& model) {
    read_activation(config, model, "hidden_act");
    read_attention_bias(config, model);
}

}  // namespace

extern const ConfigFamily gemma_entry;
const ConfigFamily gemma_entry = {
    .model_type = "gemma",
    .layer_class = "GemmaDecoderLayer",
    .since = {4, 38, 0},
    .heads_divide_hidden = false,
    .null_head_dim = false,
    .defaults = gemma_defaults,
    .read = read_gemma,
    .layer = llama_layer,
};

}  // namespace vramfit::configs
