// The family cohere2: Cohere2Config.
#include "spec/config_family.hpp"

namespace vramfit::configs {

namespace {

ModelSpec cohere2_defaults() {
    ModelSpec m;
    m.vocab_size = 256000;
    m.hidden_size = 8192;
    m.intermediate_size = 22528;
    m.num_hidden_layers = 40;
    m.num_attention_heads = 64;
    m.max_position_embeddings = 8192;
    m.tie_word_embeddings = true;
    m.pad_token_id = 0;
    m.sliding_window = 4096;
    return m;
}

// Without layer_types every fourth layer attends to all, or as sliding_window_pattern says (__post_init__). Layers that
// do not slide turn nothing (Cohere2Attention.forward).
void read_cohere2(ObjectReader& config, ModelSpec& model) {
    read_activation(config, model, "hidden_act");
    read_attention_bias(config, model);
    read_sliding_window(config, model.sliding_window);
    std::int64_t pattern = 4;
    ObjectReader::set(pattern, config.integer("sliding_window_pattern", {.low = 1}));
    auto types = read_layer_types(config, model);
    if (types) model.layer_types = std::move(*types);
    model.layer_types.resize(static_cast<std::size_t>(model.num_hidden_layers));
    for (std::int64_t i = 0; i < model.num_hidden_layers; ++i) {
        LayerAttention& type = model.layer_types[static_cast<std::size_t>(i)];
        if (!types) type = (i + 1) % pattern != 0 ? LayerAttention::sliding : LayerAttention::full;
        model.no_rope_layers.push_back(model.sliding_window && type == LayerAttention::sliding ? 1 : 0);
    }
}

}  // namespace

extern const ConfigFamily cohere2_entry;
const ConfigFamily cohere2_entry = {
    .model_type = "cohere2",
    .layer_class = "Cohere2DecoderLayer",
    .since = {4, 48, 0},
    .heads_divide_hidden = true,
    .null_head_dim = true,
    .defaults = cohere2_defaults,
    .read = read_cohere2,
    .layer = cohere_layer,
    .exact_since = {5, 0, 0},
};

}  // namespace vramfit::configs
