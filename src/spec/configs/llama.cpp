// The family llama: LlamaConfig.
#include "spec/config_family.hpp"

namespace vramfit::configs {

namespace {

ModelSpec llama_defaults() {
    ModelSpec m;
    m.vocab_size = 32000;
    m.hidden_size = 4096;
    m.intermediate_size = 11008;
    m.num_hidden_layers = 32;
    m.num_attention_heads = 32;
    m.max_position_embeddings = 2048;
    return m;
}

// modeling_llama.py: LlamaAttention puts attention_bias on q, k, v and o, LlamaMLP mlp_bias on all three.
void read_llama(ObjectReader& config, ModelSpec& model) {
    read_activation(config, model, "hidden_act");
    read_attention_bias(config, model);
    ObjectReader::set(model.mlp_bias, config.boolean("mlp_bias"));
}

}  // namespace

extern const ConfigFamily llama_entry;
const ConfigFamily llama_entry = {
    .model_type = "llama",
    .layer_class = "LlamaDecoderLayer",
    .since = {4, 28, 0},
    .heads_divide_hidden = true,  // LlamaConfig.validate_architecture
    .null_head_dim = true,
    .defaults = llama_defaults,
    .read = read_llama,
    .layer = llama_layer,
};

}  // namespace vramfit::configs
