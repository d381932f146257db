// The family gemma2: Gemma2Config.
#include "spec/config_family.hpp"

namespace vramfit::configs {

namespace {

ModelSpec gemma2_defaults() {
    ModelSpec m;
    m.vocab_size = 256000;
    m.hidden_size = 2304;
    m.intermediate_size = 9216;
    m.num_hidden_layers = 26;
    m.num_attention_heads = 8;
    m.num_key_value_heads = 4;
    m.head_dim = 256;
    m.max_position_embeddings = 8192;
    m.hidden_act = Activation::gelu_tanh;
    m.tie_word_embeddings = true;
    m.pad_token_id = 0;
    m.sliding_window = 4096;
    m.attn_logit_softcapping = 50.0;
    m.final_logit_softcapping = 30.0;
    return m;
}

// Without layer_types every other layer slides, beginning with the first (Gemma2Config.__post_init__).
void read_gemma2(ObjectReader& config, ModelSpec& model) {
    read_activation(config, model, "hidden_activation");
    read_attention_bias(config, model);
    read_softcaps(config, model);
    read_sliding_window(config, model.sliding_window);
    if (auto types = read_layer_types(config, model)) {
        model.layer_types = std::move(*types);
        return;
    }
    model.layer_types.clear();
    for (std::int64_t i = 0; i < model.num_hidden_layers; ++i) {
        model.layer_types.push_back(i % 2 == 0 ? LayerAttention::sliding : LayerAttention::full);
    }
}

// modeling_gemma2.py, Gemma2DecoderLayer: norms before and after attention and MLP.
void gemma2_layer(const ModelSpec& m, LayerModules& layer) {
    separate_attention(m, layer);
    gated_mlp(m, layer);
    four_norms(m, layer);
}

}  // namespace

extern const ConfigFamily gemma2_entry;
const ConfigFamily gemma2_entry = {
    .model_type = "gemma2",
    .layer_class = "Gemma2DecoderLayer",
    .since = {4, 42, 0},
    .heads_divide_hidden = true,  // Gemma2Config.validate_architecture
    .null_head_dim = false,
    .defaults = gemma2_defaults,
    .read = read_gemma2,
    .layer = gemma2_layer,
};

}  // namespace vramfit::configs
