// The family gemma3_text: Gemma3TextConfig.
#include "spec/config_family.hpp"

namespace vramfit::configs {

namespace {

ModelSpec gemma3_text_defaults() {
    ModelSpec m;
    m.vocab_size = 262208;
    m.hidden_size = 2304;
    m.intermediate_size = 9216;
    m.num_hidden_layers = 26;
    m.num_attention_heads = 8;
    m.num_key_value_heads = 4;
    m.head_dim = 256;
    m.max_position_embeddings = 131072;
    m.hidden_act = Activation::gelu_tanh;
    m.tie_word_embeddings = true;
    m.pad_token_id = 0;
    m.sliding_window = 4096;
    return m;
}

// Gemma3TextConfig.__post_init__: without layer_types every sixth layer (sliding_window_pattern) is full.
void read_layers(ObjectReader& config, ModelSpec& model) {
    std::int64_t pattern = 6;
    ObjectReader::set(pattern, config.integer("sliding_window_pattern", {.low = 1}));
    if (auto types = read_layer_types(config, model)) {
        model.layer_types = std::move(*types);
        return;
    }
    model.layer_types.clear();
    for (std::int64_t i = 0; i < model.num_hidden_layers; ++i)
        model.layer_types.push_back((i + 1) % pattern ? LayerAttention::sliding : LayerAttention::full);
}

// Gemma3TextConfig.convert_rope_params_to_dict: a type for each kind of layer, or rope_scaling for the full ones.
void read_rope_types(ObjectReader& config, ModelSpec& model) {
    if (auto rope = config.object("rope_parameters", Null::absent)) {
        for (const char* kind : {"full_attention", "sliding_attention"}) {
            auto own = rope->object(kind, Null::absent);
            if (!own) continue;
            const auto type = own->text("rope_type", Null::absent);
            if (type && *type != "default") model.rope_type = *type;
        }
    }
    if (model.rope_type == "dynamic" || model.rope_type == "longrope")
        config.problems().unsupported(config.path("rope_scaling"),
                                      "frequencies of one kind of layer that follow the length are not supported",
                                      "supported: linear");
}

void read_gemma3_text(ObjectReader& config, ModelSpec& model) {
    read_activation(config, model, "hidden_activation");
    read_attention_bias(config, model);
    read_softcaps(config, model);
    model.attn_logit_softcapping.reset();  // Gemma3Attention keeps it and hands it to no function
    read_sliding_window(config, model.sliding_window);
    if (!model.sliding_window)
        config.problems().invalid(config.path("sliding_window"), "Gemma3TextModel makes a mask with a window always",
                                  "give the window's tokens");
    read_layers(config, model);
    read_rope_types(config, model);
    if (config.boolean("use_bidirectional_attention", Null::absent).value_or(false))
        config.problems().unsupported(config.path("use_bidirectional_attention"),
                                      "attention in both directions is not supported", "leave the key out");
}

// modeling_gemma3.py, Gemma3Attention and Gemma3DecoderLayer.
void gemma3_layer(const ModelSpec& m, LayerModules& layer) {
    separate_attention(m, layer, {m.head_dim, m.head_dim});
    gated_mlp(m, layer);
    four_norms(m, layer);
}

}  // namespace

extern const ConfigFamily gemma3_text_entry;
const ConfigFamily gemma3_text_entry = {
    .model_type = "gemma3_text",
    .layer_class = "Gemma3DecoderLayer",
    .since = {4, 50, 0},
    .heads_divide_hidden = true,
    .null_head_dim = false,
    .defaults = gemma3_text_defaults,
    .read = read_gemma3_text,
    .layer = gemma3_layer,
    .exact_since = {5, 0, 0},
};

}  // namespace vramfit::configs
