// The family smollm3: SmolLM3Config.
#include <algorithm>

#include "spec/config_family.hpp"

namespace vramfit::configs {

namespace {

ModelSpec smollm3_defaults() {
    ModelSpec m;
    m.vocab_size = 128256;
    m.hidden_size = 2048;
    m.intermediate_size = 11008;
    m.num_hidden_layers = 36;
    m.num_attention_heads = 16;
    m.num_key_value_heads = 4;
    m.max_position_embeddings = 32768;
    m.tie_word_embeddings = true;
    m.pad_token_id = 128004;
    return m;
}

// SmolLM3Config.__post_init__: without the list every fourth layer turns nothing.
void read_no_rope_layers(ObjectReader& config, ModelSpec& model) {
    std::int64_t interval = 4;
    ObjectReader::set(interval, config.integer("no_rope_layer_interval", {.low = 1}));
    const auto layers = static_cast<std::size_t>(model.num_hidden_layers);
    if (auto given = config.integers("no_rope_layers", {.low = 0, .high = 1}, Null::absent)) {
        if (given->size() < layers) {
            config.problems().invalid(config.path("no_rope_layers"), "fewer entries than layers", "one for each layer");
            given->resize(layers, 1);
        }
        given->resize(layers);
        model.no_rope_layers = std::move(*given);
        return;
    }
    for (std::int64_t i = 0; i < model.num_hidden_layers; ++i)
        model.no_rope_layers.push_back((i + 1) % interval != 0 ? 1 : 0);
}

// Without layer_types those layers slide that turn nothing, if use_sliding_window says so. There is a mask with a
// window only where a layer slides (SmolLM3Model.has_sliding_layers).
void read_windows(ObjectReader& config, ModelSpec& model) {
    bool use = false;
    ObjectReader::set(use, config.boolean("use_sliding_window"));
    model.sliding_window = config.integer("sliding_window", {.low = 1}, Null::absent);
    if (auto types = read_layer_types(config, model)) {
        model.layer_types = std::move(*types);
    } else {
        for (std::size_t i = 0; i < model.layer_types.size(); ++i)
            if (use && model.sliding_window && model.no_rope_layers[i] == 0)
                model.layer_types[i] = LayerAttention::sliding;
    }
    const auto slides = std::find(model.layer_types.begin(), model.layer_types.end(), LayerAttention::sliding);
    if (slides == model.layer_types.end()) model.sliding_window.reset();
}

void read_smollm3(ObjectReader& config, ModelSpec& model) {
    read_activation(config, model, "hidden_act");
    read_attention_bias(config, model);
    ObjectReader::set(model.mlp_bias, config.boolean("mlp_bias"));
    read_no_rope_layers(config, model);
    read_windows(config, model);
}

}  // namespace

extern const ConfigFamily smollm3_entry;
const ConfigFamily smollm3_entry = {
    .model_type = "smollm3",
    .layer_class = "SmolLM3DecoderLayer",
    .since = {4, 53, 0},
    .heads_divide_hidden = false,
    .null_head_dim = false,
    .defaults = smollm3_defaults,
    .read = read_smollm3,
    .layer = llama_layer,
    .exact_since = {5, 0, 0},
};

}  // namespace vramfit::configs
