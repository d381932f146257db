// Reading a Hugging Face config.json: what all families have in common, and the checks of sizes.
#include "vramfit/spec/config.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "spec/config_family.hpp"
#include "spec/config_read.hpp"
#include "spec/json_parse.hpp"
#include "spec/network/model.hpp"
#include "spec/network/type.hpp"
#include "spec/reader.hpp"
#include "vramfit/base/checked.hpp"
#include "vramfit/spec/suggest.hpp"

namespace vramfit {

namespace {

// Larger than anything published by orders of magnitude; keeps sums of a few products within 63 bits.
constexpr std::int64_t kLargestSize = std::int64_t{1} << 31;
constexpr std::int64_t kMostLayers = 10'000;

constexpr IntegerRange kSize = {.low = 1, .high = kLargestSize};

constexpr std::string_view kRopeTypes[] = {"default",  "linear", "dynamic",     "yarn",
                                           "longrope", "llama3", "proportional"};

void read_sizes(ObjectReader& config, const ConfigFamily& family, ModelSpec& model) {
    ObjectReader::set(model.vocab_size, config.integer("vocab_size", kSize));
    ObjectReader::set(model.hidden_size, config.integer("hidden_size", kSize));
    ObjectReader::set(model.intermediate_size, config.integer("intermediate_size", kSize));
    ObjectReader::set(model.num_hidden_layers, config.integer("num_hidden_layers", {.low = 1, .high = kMostLayers}));
    ObjectReader::set(model.num_attention_heads, config.integer("num_attention_heads", kSize));
    ObjectReader::set(model.max_position_embeddings, config.integer("max_position_embeddings", kSize));
    if (const JsonValue* heads = config.whole().find("num_key_value_heads");
        heads && heads->kind == JsonValue::Kind::null) {
        model.num_key_value_heads = 0;  // null: as many as heads, whatever the default is
    }
    ObjectReader::set(model.num_key_value_heads, config.integer("num_key_value_heads", kSize, Null::absent));
    ObjectReader::set(model.head_dim,
                      config.integer("head_dim", kSize, family.null_head_dim ? Null::absent : Null::refused));
    if (model.num_key_value_heads == 0) model.num_key_value_heads = model.num_attention_heads;
}

// transformers 5.17.0, modeling_rope_utils.py: rope_scaling is the older name of rope_parameters and goes before it
// (convert_rope_params_to_dict); `type` is the older name of rope_type.
void read_rope(ObjectReader& config, ModelSpec& model) {
    const JsonValue* older = config.value("rope_scaling");
    const bool given = older && older->kind != JsonValue::Kind::null &&
                       !(older->kind == JsonValue::Kind::object && older->keys.empty());
    auto rope = config.object(given ? "rope_scaling" : "rope_parameters", Null::absent);
    if (!rope) return;
    const std::string_view key = rope->has("rope_type") ? "rope_type" : "type";
    const auto type = rope->text(key, Null::absent);
    if (!type) return;
    model.rope_type = *type;
    if (model.model_type == "phi3" && *type == "su") return;  // longrope's older name
    if (std::find(std::begin(kRopeTypes), std::end(kRopeTypes), *type) != std::end(kRopeTypes)) return;
    config.problems().unsupported(
        rope->path(key), fmt::format("rotary embeddings of type '{}' are not supported", *type),
        did_you_mean(*type, kRopeTypes, fmt::format("supported: {}", fmt::join(kRopeTypes, ", "))));
}

// configuration_utils.py: `dtype`, and `torch_dtype` from before transformers 4.56.
void read_dtype(ObjectReader& config, ModelSpec& model) {
    const std::string_view key = config.has("dtype") ? "dtype" : "torch_dtype";
    const auto text = config.text(key, Null::absent);
    if (!text || *text == "auto") return;
    std::string_view name = *text;
    if (name.starts_with("torch.")) name.remove_prefix(6);
    const auto dtype = dtype_from(name);
    if (dtype && is_floating(*dtype)) {
        model.checkpoint_dtype = dtype;
    } else if (dtype || name.starts_with("float8")) {
        config.problems().unsupported(config.path(key), fmt::format("a checkpoint of dtype {} is not supported", name),
                                      "supported: bfloat16, float16, float32");
    } else {
        config.problems().invalid(config.path(key), fmt::format("unknown dtype '{}'", name),
                                  "supported: bfloat16, float16, float32");
    }
}

void read_rest(ObjectReader& config, ModelSpec& model) {
    ObjectReader::set(model.tie_word_embeddings, config.boolean("tie_word_embeddings"));
    ObjectReader::set(model.attention_dropout, config.real("attention_dropout", {.low = 0, .high = 1}, Null::absent));
    // modeling_layers.py GenericForTokenClassification.__init__; no family that has the class has a hidden_dropout.
    ObjectReader::set(model.classifier_dropout, config.real("classifier_dropout", {.low = 0, .high = 1}, Null::absent));
    ObjectReader::set(model.use_cache, config.boolean("use_cache"));
    if (config.has("pad_token_id")) {
        // torch.nn.Embedding takes negative numbers from the end.
        model.pad_token_id =
            config.integer("pad_token_id", {.low = -model.vocab_size, .high = model.vocab_size - 1}, Null::absent);
    }
    read_rope(config, model);
    read_dtype(config, model);
}

std::vector<std::int64_t> divisors_of(std::int64_t number) {
    std::vector<std::int64_t> divisors;
    for (std::int64_t i = 1; i <= number && divisors.size() < 20; ++i)
        if (number % i == 0) divisors.push_back(i);
    return divisors;
}

// Sizes that no network can have, in the order in which one would look.
void check_heads(const ObjectReader& config, const ConfigFamily& family, ModelSpec& model, Problems& problems) {
    const std::int64_t heads = model.num_attention_heads;
    const bool divides = model.hidden_size % heads == 0;
    if (!divides && (family.heads_divide_hidden || model.head_dim == 0)) {
        problems.invalid(config.path("num_attention_heads"),
                         fmt::format("{} heads do not divide hidden_size {}", heads, model.hidden_size),
                         family.heads_divide_hidden ? "hidden_size is a multiple of num_attention_heads"
                                                    : "give head_dim if the heads' sizes do not add up to hidden_size");
    }
    if (model.head_dim == 0) model.head_dim = std::max<std::int64_t>(1, model.hidden_size / heads);
    if (heads % model.num_key_value_heads != 0) {
        problems.invalid(config.path("num_key_value_heads"),
                         fmt::format("{} does not divide {} attention heads", model.num_key_value_heads, heads),
                         fmt::format("possible: {}", fmt::join(divisors_of(heads), ", ")));
    }
    const std::int64_t turned = model.rotary_dim();
    if (!divides || family.names.rotary.empty()) return;
    if (turned % 2 != 0)
        problems.invalid(config.path("head_dim"), fmt::format("{} is odd; rotary embeddings turn pairs", turned),
                         "give an even head_dim");
    if (turned == 0)
        problems.invalid(config.path("head_dim"), "nothing is left for rotary embeddings to turn",
                         "give a larger head_dim");
}

void check_windows(const ObjectReader& config, const ModelSpec& model, Problems& problems) {
    const bool slides = std::find(model.layer_types.begin(), model.layer_types.end(), LayerAttention::sliding) !=
                        model.layer_types.end();
    if (slides && model.sliding_window.value_or(0) == 0)
        problems.invalid(config.path("sliding_window"), "absent or switched off, but layers slide",
                         "give sliding_window, or full_attention for all layers");
}

/// What bitsandbytes has packed in nf4 with double quantization, as Unsloth publishes it: what it has left out.
std::optional<std::vector<std::string>> read_packed(const JsonValue& config) {
    const JsonValue* quantization = config.find("quantization_config");
    if (!quantization || quantization->kind != JsonValue::Kind::object) return std::nullopt;
    const auto is = [&](std::string_view key, std::string_view wanted) {
        const JsonValue* value = quantization->find(key);
        return value && value->kind == JsonValue::Kind::text && value->text == wanted;
    };
    const auto is_true = [&](std::string_view key) {
        const JsonValue* value = quantization->find(key);
        return value && value->kind == JsonValue::Kind::boolean && value->boolean;
    };
    const bool bytes = !quantization->find("bnb_4bit_quant_storage") || is("bnb_4bit_quant_storage", "uint8");
    if (!is("quant_method", "bitsandbytes") || !is_true("load_in_4bit") || !is("bnb_4bit_quant_type", "nf4") ||
        !is_true("bnb_4bit_use_double_quant") || !bytes)
        return std::nullopt;
    std::vector<std::string> out;
    const JsonValue* modules = quantization->find("llm_int8_skip_modules");
    if (!modules || modules->kind == JsonValue::Kind::null) return out;
    if (modules->kind != JsonValue::Kind::list) return std::nullopt;
    for (const JsonValue& module : modules->items) {
        if (module.kind != JsonValue::Kind::text) return std::nullopt;
        out.push_back(module.text);
    }
    return out;
}

// What changes a network so much that it is another one. Returns whether reading on makes sense.
bool check_kind(const ObjectReader& config, Problems& problems) {
    const auto given = [&](std::string_view key) {
        const JsonValue* value = config.whole().find(key);
        return value && value->kind != JsonValue::Kind::null &&
               !(value->kind == JsonValue::Kind::object && value->keys.empty());
    };
    if (given("text_config") || given("vision_config") || given("audio_config")) {
        problems.unsupported(config.path(given("text_config")     ? "text_config"
                                         : given("vision_config") ? "vision_config"
                                                                  : "audio_config"),
                             "models of text and other media are not supported",
                             "give the text model's own config.json");
        return false;
    }
    if (given("quantization_config") && !read_packed(config.whole())) {
        problems.unsupported(config.path("quantization_config"),
                             "a checkpoint that is quantized already is not supported",
                             "give the unquantized model and load.quantization_config");
    }
    if (given("per_layer_config"))
        problems.unsupported(config.path("per_layer_config"), "layers of different sizes are not supported",
                             "networks whose layers are alike are");
    return true;
}

/// A model of text and images, its text part, and whether the class of that ties its head as the whole says.
struct TextPart {
    std::string_view whole;
    std::string_view part;
    bool ties_as_whole;
};
// transformers 5.17.0 configuration_gemma3.py; in configuration_gemma4.py and configuration_qwen3_5.py the text part
// has a key of its own.
constexpr TextPart kTextParts[] = {
    {"gemma3", "gemma3_text", true},       {"gemma4", "gemma4_text", false},
    {"gemma3n", "gemma3n_text", false},    {"gemma4_unified", "gemma4_unified_text", false},
    {"qwen3_5", "qwen3_5_text", false},    {"qwen3_5_moe", "qwen3_5_moe_text", false},
    {"llama4", "llama4_text", false},      {"emu3", "emu3_text_model", false},
    {"mllama", "mllama_text_model", false}};

const TextPart* text_part_of(const JsonValue& config) {
    const JsonValue* type = config.find("model_type");
    const JsonValue* text = config.find("text_config");
    if (!type || type->kind != JsonValue::Kind::text || !text || text->kind != JsonValue::Kind::object) return nullptr;
    for (const TextPart& known : kTextParts)
        if (known.whole == type->text) return &known;
    return nullptr;
}

// The text part as its own class loads it. What stands beside it counts where it says nothing.
std::optional<ModelSpec> read_text_part(const TextPart& part, const JsonValue& config, const std::string& path,
                                        Problems& problems) {
    JsonValue text = *config.find("text_config");
    if (const JsonValue* type = text.find("model_type"); !type) {
        text.put("model_type", JsonValue::of(part.part));
    } else if (type->kind != JsonValue::Kind::text || type->text != part.part) {
        // The whole's class makes the part's configuration of it, whatever it says.
        problems.unsupported(path + "/text_config/model_type",
                             fmt::format("{} is no text part of {}", type->shown(), part.whole),
                             fmt::format("\"{}\", or give the text model's own config.json", part.part));
        return std::nullopt;
    }
    for (const char* key : {"dtype", "torch_dtype", "tie_word_embeddings", "quantization_config"})
        if (const JsonValue* value = config.find(key);
            value && !text.find(key) && (part.ties_as_whole || key != std::string_view("tie_word_embeddings")))
            text.put(key, *value);
    std::optional<ModelSpec> model = read_model(text, path + "/text_config", problems);
    if (model) model->is_text_part = true;
    if (model && network::built_in_type(part.whole)) model->whole_config = to_text(config);
    return model;
}

const ConfigFamily* read_family(ObjectReader& config, Problems& problems) {
    const JsonValue* type = config.value("model_type");
    const std::string supported =
        fmt::format("supported: {}, and recorded types (vramfit models types)", fmt::join(model_families(), ", "));
    if (!type) {
        problems.invalid(config.path("model_type"), "the key is missing", supported);
        return nullptr;
    }
    const auto name = config.text("model_type");
    if (!name) return nullptr;
    if (!check_kind(config, problems)) return nullptr;
    const ConfigFamily* family = config_family(*name);
    if (!family)
        problems.unsupported(config.path("model_type"), fmt::format("the model type '{}' is not supported", *name),
                             supported);
    return family;
}

// A type that nobody wrote by hand: its recording has the network.
std::optional<ModelSpec> read_recorded_type(const JsonValue& config, const network::BuiltInType& type,
                                            const std::string& path, Problems& problems) {
    try {
        return network::model_of(type, config, path, problems.file(), {});
    } catch (const Error& error) {
        problems.add(error);
        return std::nullopt;
    }
}

const network::BuiltInType* recorded_type_of(const JsonValue& config) {
    const JsonValue* type = config.find("model_type");
    if (!type || type->kind != JsonValue::Kind::text || config_family(type->text)) return nullptr;
    return network::built_in_type_of(config);
}

// Of the built-in models' text parts: what stands beside them is under `whole`.
std::string whole_config_of(const JsonValue& text) {
    const JsonValue* beside = text.find("whole");
    if (!beside || beside->kind != JsonValue::Kind::object) return {};
    JsonValue part = JsonValue::object();
    for (std::size_t i = 0; i < text.keys.size(); ++i)
        if (text.keys[i] != "whole" && text.keys[i] != "text_part") part.put(text.keys[i], text.items[i]);
    JsonValue whole = *beside;
    whole.put("text_config", part);
    return to_text(whole);
}

}  // namespace

std::optional<ModelSpec> read_model(const JsonValue& value, const std::string& path, Problems& problems) {
    if (const TextPart* part = value.kind == JsonValue::Kind::object ? text_part_of(value) : nullptr)
        return read_text_part(*part, value, path, problems);
    Problems own(problems.file());
    ObjectReader config(value, path, own);
    std::optional<ModelSpec> read;
    if (const network::BuiltInType* type = recorded_type_of(value)) {
        if (const auto packed = read_packed(value))
            own.unsupported(config.path("quantization_config"),
                            "a checkpoint of this type that is quantized already is not supported",
                            "give the unquantized model and load.quantization_config");
        const bool is_text_part = config.boolean("text_part").value_or(false);  // of the built-in models
        const bool has_parts = type->document().find("parts") != nullptr;
        if (has_parts || check_kind(config, own)) read = read_recorded_type(value, *type, path, own);
        if (read) read->is_text_part = is_text_part;
    } else if (value.kind == JsonValue::Kind::object) {
        if (const ConfigFamily* family = read_family(config, own)) {
            ModelSpec model = family->defaults();
            model.model_type = family->model_type;
            read_sizes(config, *family, model);
            read_rest(config, model);
            model.layer_types.assign(static_cast<std::size_t>(model.num_hidden_layers), LayerAttention::full);
            model.is_text_part = config.boolean("text_part").value_or(false);  // of the built-in models
            model.packed_but_for = read_packed(value);
            family->read(config, model);
            check_heads(config, *family, model, own);
            check_windows(config, model, own);
            config.refuse_misspelt();
            read = std::move(model);
        }
    }
    if (read && read->is_text_part) read->whole_config = whole_config_of(value);
    try {
        if (read && own.none()) size_of(total_parameters(*read), DType::float64);
    } catch (const Error&) {
        own.invalid(path, "a network of these sizes has more bytes than 63 bits can count",
                    "check the sizes: published networks are smaller by a factor of a million");
    }
    if (own.none()) return read;
    try {
        own.throw_if_any();
    } catch (const Error& error) {
        problems.add(error);
    }
    return std::nullopt;
}

ModelSpec read_config(std::string_view text, std::string_view file, std::string_view name) {
    Problems problems(file);
    const JsonValue value = parse_json(text, problems);
    problems.throw_if_any();
    auto model = read_model(value, "", problems);
    problems.throw_if_any();
    model->name = name.empty() ? file : name;
    return std::move(*model);
}

std::vector<std::string_view> model_families() {
    std::vector<std::string_view> names;
    for (const ConfigFamily* family : all_configs()) names.push_back(family->model_type);
    return names;
}

std::vector<std::string_view> recorded_types() {
    std::vector<std::string_view> names;
    for (const network::BuiltInType& type : network::built_in_types()) names.push_back(type.model_type);
    return names;
}

}  // namespace vramfit
