// What the config.json of several model families have in common.
#include <algorithm>

#include <fmt/format.h>

#include "spec/config_family.hpp"
#include "spec/network/model.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/config.hpp"
#include "vramfit/spec/suggest.hpp"

namespace vramfit {

const ConfigFamily* config_family(std::string_view model_type) {
    const auto families = all_configs();
    const auto found = std::find_if(families.begin(), families.end(),
                                    [&](const ConfigFamily* f) { return f->model_type == model_type; });
    return found == families.end() ? nullptr : *found;
}

const ConfigFamily& known_family(std::string_view model_type) {
    const ConfigFamily* family = config_family(model_type);
    if (!family)
        throw Error(ErrorKind::unsupported, "", fmt::format("the model type '{}' is not supported", model_type),
                    fmt::format("supported: {}", fmt::join(model_families(), ", ")));
    return *family;
}

std::string decoder_layer_class(const ModelSpec& model) {
    if (model.recording) return network::decoder_layer_class(*model.recording);
    const ConfigFamily* family = config_family(model.model_type);
    return family ? std::string(family->layer_class) : std::string();
}

void read_attention_bias(ObjectReader& config, ModelSpec& model) {
    ObjectReader::set(model.attention_bias, config.boolean("attention_bias"));
    model.output_bias = model.attention_bias;
}

void read_activation(ObjectReader& config, ModelSpec& model, std::string_view key) {
    // transformers 5.17.0, activations.py, ACT2CLS; the second list has functions made of several operators or not
    // seen in a decoder of these families.
    static constexpr Named<Activation> known[] = {
        {"silu", Activation::silu},         {"swish", Activation::silu},
        {"gelu", Activation::gelu},         {"gelu_pytorch_tanh", Activation::gelu_tanh},
        {"gelu_new", Activation::gelu_new}, {"gelu_fast", Activation::gelu_fast},
        {"relu", Activation::relu},         {"relu2", Activation::relu2}};
    static constexpr std::string_view others[] = {
        "gelu_10", "gelu_accurate", "gelu_python", "gelu_python_tanh", "laplace", "leaky_relu", "linear",
        "mish",    "quick_gelu",    "relu6",       "sigmoid",          "tanh",    "prelu",      "xielu"};
    const auto word = config.text(key);
    if (!word) return;
    std::vector<std::string_view> names;
    for (const auto& activation : known) {
        if (activation.name == *word) {
            model.hidden_act = activation.value;
            return;
        }
        names.push_back(activation.name);
    }
    if (std::find(std::begin(others), std::end(others), *word) != std::end(others)) {
        config.problems().unsupported(config.path(key), fmt::format("the activation '{}' is not supported", *word),
                                      fmt::format("supported: {}", fmt::join(names, ", ")));
    } else {
        config.problems().invalid(config.path(key), fmt::format("unknown activation '{}'", *word),
                                  did_you_mean(*word, names, fmt::format("supported: {}", fmt::join(names, ", "))));
    }
}

void read_sliding_window(ObjectReader& config, std::optional<std::int64_t>& window) {
    if (config.has("sliding_window")) window = config.integer("sliding_window", {.low = 1}, Null::absent);
}

void slide_in_all_or_none(ModelSpec& model) {
    const auto attention = model.sliding_window ? LayerAttention::sliding : LayerAttention::full;
    model.layer_types.assign(static_cast<std::size_t>(model.num_hidden_layers), attention);
}

void read_window_of_all(ObjectReader& config, ModelSpec& model) {
    read_sliding_window(config, model.sliding_window);
    slide_in_all_or_none(model);
}

void read_softcaps(ObjectReader& config, ModelSpec& model) {
    constexpr std::string_view kAttention = "attn_logit_softcapping";
    constexpr std::string_view kFinal = "final_logit_softcapping";
    if (config.has(kAttention)) model.attn_logit_softcapping = config.real(kAttention, {}, Null::absent);
    if (config.has(kFinal)) model.final_logit_softcapping = config.real(kFinal, {}, Null::absent);
}

// modeling_rope_utils.py convert_rope_params_to_dict: what the rotary parameters say goes before the key.
void read_partial_rotary(ObjectReader& config, ModelSpec& model, std::string_view key) {
    constexpr RealRange kPart = {.low = 0, .high = 1};
    ObjectReader::set(model.partial_rotary_factor, config.real(key, kPart));
    for (const char* parameters : {"rope_parameters", "rope_scaling"})
        if (auto rope = config.object(parameters, Null::absent))
            ObjectReader::set(model.partial_rotary_factor, rope->real("partial_rotary_factor", kPart));
}

std::optional<std::vector<LayerAttention>> read_layer_types(ObjectReader& config, const ModelSpec& model) {
    const auto words = config.texts("layer_types", Null::absent);
    if (!words) return std::nullopt;
    const std::string path = config.path("layer_types");
    if (static_cast<std::int64_t>(words->size()) != model.num_hidden_layers) {
        config.problems().invalid(path, fmt::format("{} entries for {} layers", words->size(), model.num_hidden_layers),
                                  "one for each layer");
        return std::nullopt;
    }
    std::vector<LayerAttention> types;
    for (std::size_t i = 0; i < words->size(); ++i) {
        const std::string& word = (*words)[i];
        if (word != "full_attention" && word != "sliding_attention") {
            config.problems().unsupported(fmt::format("{}/{}", path, i),
                                          fmt::format("the layer type '{}' is not supported", word),
                                          "supported: full_attention, sliding_attention");
        }
        types.push_back(word == "sliding_attention" ? LayerAttention::sliding : LayerAttention::full);
    }
    return types;
}

// Qwen2Config.__post_init__ (Qwen3Config's is the same): the window counts only with use_sliding_window, and without
// layer_types the layers from max_window_layers on slide.
void read_qwen_window(ObjectReader& config, ModelSpec& model) {
    std::optional<std::int64_t> window = 4096;
    std::int64_t first = 28;
    bool use = false;
    read_sliding_window(config, window);
    ObjectReader::set(first, config.integer("max_window_layers"));
    ObjectReader::set(use, config.boolean("use_sliding_window"));
    (use ? model.sliding_window : model.unused_window) = window;
    if (auto types = read_layer_types(config, model)) {
        model.layer_types = std::move(*types);
        return;
    }
    model.layer_types.clear();
    for (std::int64_t i = 0; i < model.num_hidden_layers; ++i) {
        model.layer_types.push_back(model.sliding_window && i >= first ? LayerAttention::sliding
                                                                       : LayerAttention::full);
    }
}

}  // namespace vramfit
