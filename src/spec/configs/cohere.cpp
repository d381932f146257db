// The family cohere: CohereConfig.
#include "spec/config_family.hpp"

namespace vramfit::configs {

namespace {

ModelSpec cohere_defaults() {
    ModelSpec m;
    m.vocab_size = 256000;
    m.hidden_size = 8192;
    m.intermediate_size = 22528;
    m.num_hidden_layers = 40;
    m.num_attention_heads = 64;
    m.max_position_embeddings = 8192;
    m.tie_word_embeddings = true;
    m.pad_token_id = 0;
    return m;
}

void read_cohere(ObjectReader& config, ModelSpec& model) {
    read_activation(config, model, "hidden_act");
    read_attention_bias(config, model);
    ObjectReader::set(model.normed_heads, config.boolean("use_qk_norm"));
}

}  // namespace

extern const ConfigFamily cohere_entry;
const ConfigFamily cohere_entry = {
    .model_type = "cohere",
    .layer_class = "CohereDecoderLayer",
    .since = {4, 39, 0},
    .heads_divide_hidden = true,
    .null_head_dim = true,
    .defaults = cohere_defaults,
    .read = read_cohere,
    .layer = cohere_layer,
    .exact_since = {5, 0, 0},
};

}  // namespace vramfit::configs
