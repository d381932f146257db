// The family seed_oss: SeedOssConfig.
#include "spec/config_family.hpp"

namespace vramfit::configs {

namespace {

ModelSpec seed_oss_defaults() {
    ModelSpec m;
    m.vocab_size = 155136;
    m.hidden_size = 4096;
    m.intermediate_size = 27648;
    m.num_hidden_layers = 64;
    m.num_attention_heads = 80;
    m.num_key_value_heads = 8;
    m.head_dim = 128;
    m.max_position_embeddings = 524288;
    m.attention_bias = true;
    m.attention_dropout = 0.1;
    m.residual_dropout = 0.1;
    m.pad_token_id = 1;
    return m;
}

void read_seed_oss(ObjectReader& config, ModelSpec& model) {
    constexpr RealRange kRate = {.low = 0, .high = 1};
    read_activation(config, model, "hidden_act");
    ObjectReader::set(model.attention_bias, config.boolean("attention_bias"));
    ObjectReader::set(model.output_bias, config.boolean("attention_out_bias"));
    ObjectReader::set(model.mlp_bias, config.boolean("mlp_bias"));
    ObjectReader::set(model.residual_dropout, config.real("residual_dropout", kRate));
}

}  // namespace

extern const ConfigFamily seed_oss_entry;
const ConfigFamily seed_oss_entry = {
    .model_type = "seed_oss",
    .layer_class = "SeedOssDecoderLayer",
    .since = {4, 56, 0},
    .heads_divide_hidden = false,
    .null_head_dim = true,
    .defaults = seed_oss_defaults,
    .read = read_seed_oss,
    .layer = llama_layer,
    .exact_since = {5, 0, 0},
};

}  // namespace vramfit::configs
