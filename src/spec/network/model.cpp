// What commands need of a recorded network, from its tree of modules and the configuration that was recorded.
#include "spec/network/model.hpp"

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "spec/json_parse.hpp"
#include "spec/last_part.hpp"
#include "vramfit/base/checked.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/lengths.hpp"

namespace vramfit::network {

namespace {

[[noreturn]] void refuse_network(const Document& document, std::string what, std::string hint) {
    throw Error(ErrorKind::unsupported, document.file, std::move(what), std::move(hint));
}

bool is_derived_linear(const ModuleKind& kind) { return kind.leaf == Leaf::linear && kind.class_name != "Linear"; }

bool is_plain_norm(const ModuleKind& kind) {
    const bool all = std::all_of(kind.parameters.begin(), kind.parameters.end(), [](const Parameter& p) {
        return (p.name == "weight" || p.name == "bias") && p.sizes.size() == 1;
    });
    return all && (kind.parameters.empty() || kind.parameters.front().name == "weight");
}

bool has_parameter(const ModuleKind& kind, std::string_view name) {
    return std::any_of(kind.parameters.begin(), kind.parameters.end(),
                       [&](const Parameter& p) { return p.name == name; });
}

/// A weight and perhaps a bias, and the forward of the class that adapters and quantizers know.
bool is_plain_matrix(const ModuleKind& kind, std::string_view class_name) {
    return kind.class_name == class_name && !kind.parameters.empty() && kind.parameters.front().name == "weight" &&
           kind.parameters.front().sizes.size() == 2 &&
           kind.parameters.size() == (has_parameter(kind, "bias") ? 2U : 1U);
}

/// nn.Linear, or falcon's, which is computed by its parts and adapted and quantized as nn.Linear is.
bool is_plain_linear(const ModuleKind& kind) {
    return is_plain_matrix(kind, "Linear") || is_plain_matrix(kind, "FalconLinear");
}

std::vector<BareParameter> bare_parameters(const ModuleKind& kind) {
    std::vector<BareParameter> all;
    for (const Parameter& p : kind.parameters)
        all.push_back({p.name, sizes_of(p), {}, p.name.find("bias") != std::string::npos, false});
    return all;
}

/// A matrix: its two sizes as the module's `in` and `out`.
void set_sizes(NamedModule& module, const ModuleKind& kind, bool out_first) {
    const std::vector<std::int64_t> sizes = sizes_of(kind.parameters.front());
    module.in = sizes[out_first ? 1 : 0];
    module.out = sizes[out_first ? 0 : 1];
    module.bias = has_parameter(kind, "bias");
}

NamedModule named_module(const std::string& path, const ModuleKind& kind, int layer) {
    NamedModule module{path, vramfit::ModuleKind::other, layer};
    if (kind.leaf == Leaf::linear && is_plain_linear(kind)) {
        module.kind = vramfit::ModuleKind::linear;
        set_sizes(module, kind, true);
    } else if (kind.leaf == Leaf::conv1d && is_plain_matrix(kind, "Conv1D")) {
        module.kind = vramfit::ModuleKind::conv1d;
        set_sizes(module, kind, false);
    } else if (kind.leaf == Leaf::embedding && kind.parameters.size() == 1 &&
               kind.parameters.front().sizes.size() == 2) {
        module.kind = vramfit::ModuleKind::embedding;
        set_sizes(module, kind, false);
    } else if ((kind.leaf == Leaf::norm || kind.leaf == Leaf::layer_norm) && is_plain_norm(kind)) {
        module.kind = vramfit::ModuleKind::norm;
        module.out = kind.parameters.empty() ? 0 : sizes_of(kind.parameters.front()).front();
        module.bias = has_parameter(kind, "bias");
    } else if (!kind.parameters.empty()) {
        module.kind = vramfit::ModuleKind::bare;
        module.parameters = bare_parameters(kind);
    }
    return module;
}

/// Recordings that do not say it: the first embedding, the last linear layer outside of the decoder layers.
void mark_parts(const Document& document, std::vector<NamedModule>& modules) {
    NamedModule *embedding = nullptr, *head = nullptr;
    for (NamedModule& module : modules) {
        if (module.kind == vramfit::ModuleKind::embedding) {
            const bool said = !document.input_embeddings.empty();
            if (said ? module.name == document.input_embeddings : !embedding) embedding = &module;
        }
        if (module.kind == vramfit::ModuleKind::linear) {
            const bool said = !document.output_embeddings.empty();
            if (said ? module.name == document.output_embeddings : module.layer < 0) head = &module;
        }
    }
    if (embedding) embedding->part = ModulePart::embedding;
    if (head) head->part = ModulePart::head;
    for (NamedModule& module : modules) {
        const std::string_view name = last_part(module.name);
        const bool positions = name.find("position") != name.npos || name == "wpe";
        if (module.kind == vramfit::ModuleKind::embedding && module.part == ModulePart::other && positions)
            module.part = ModulePart::positions;
    }
}

/// Of a network with towers the configuration has a part of its own for the text decoder.
const JsonValue& decoder_config(const JsonValue& config) {
    const JsonValue* text = config.find("text_config");
    return text && text->kind == JsonValue::Kind::object ? *text : config;
}

/// A number of the configuration, under one of the names that classes have for it.
std::optional<std::int64_t> number_in(const JsonValue& config, std::initializer_list<std::string_view> keys) {
    for (const std::string_view key : keys) {
        const JsonValue* value = config.find(key);
        if (value && value->kind == JsonValue::Kind::integer && value->integer > 0 &&
            value->integer <= std::numeric_limits<std::int32_t>::max())
            return value->integer;
    }
    return std::nullopt;
}

/// Rows of the table of positions in front of a row's first token: 5.17.0 modeling_roberta.py
/// create_position_ids_from_input_ids begins behind the place of padding.
std::int64_t rows_before_tokens(const JsonValue& config, std::string_view type) {
    constexpr std::string_view kTypes[] = {"camembert",   "data2vec-text", "roberta", "roberta-prelayernorm",
                                           "xlm-roberta", "xlm-roberta-xl"};
    if (std::find(std::begin(kTypes), std::end(kTypes), type) == std::end(kTypes)) return 0;
    const JsonValue* padding = config.find("pad_token_id");
    const bool is_said = padding && padding->kind == JsonValue::Kind::integer;
    return (is_said ? std::clamp<std::int64_t>(padding->integer, 0, std::numeric_limits<std::int32_t>::max()) : 1) + 1;
}

void read_recorded_config(const JsonValue& whole, ModelSpec& model) {
    const JsonValue& config = decoder_config(whole);
    // Where nothing is said nothing is bounded.
    model.max_position_embeddings =
        number_in(config, {"max_position_embeddings", "n_positions", "max_seq_len", "max_sequence_length",
                           "max_target_positions", "model_max_length", "seq_length", "n_ctx"})
            .value_or(std::numeric_limits<std::int32_t>::max());
    model.max_position_embeddings =
        std::max<std::int64_t>(1, model.max_position_embeddings - rows_before_tokens(config, model.model_type));
    model.num_attention_heads =
        number_in(config, {"num_attention_heads", "n_head", "n_heads", "num_heads", "decoder_attention_heads"})
            .value_or(1);
    model.num_key_value_heads =
        number_in(config, {"num_key_value_heads", "num_kv_heads"}).value_or(model.num_attention_heads);
    model.head_dim = number_in(config, {"head_dim"})
                         .value_or(std::max<std::int64_t>(1, model.hidden_size / model.num_attention_heads));
    const JsonValue* rope = config.find("rope_parameters");
    const JsonValue* kind = rope && rope->kind == JsonValue::Kind::object ? rope->find("rope_type") : nullptr;
    if (kind && kind->kind == JsonValue::Kind::text) model.rope_type = kind->text;
    const JsonValue* cache = config.find("use_cache");
    model.use_cache = cache && cache->kind == JsonValue::Kind::boolean && cache->boolean;
    const JsonValue* dtype = config.find(config.find("dtype") ? "dtype" : "torch_dtype");
    if (!dtype || dtype->kind != JsonValue::Kind::text) return;
    const auto known = dtype_from(dtype->text);
    if (known && is_floating(*known)) model.checkpoint_dtype = known;
}

/// Embedding and head may be one tensor, perhaps under a third name, and so may the head's bias and that of the module
/// around it; layers may share what they have (shared_by_layers); other ties are not known to the modules that hold
/// them.
bool ties_embeddings(const Document& document, const std::vector<NamedModule>& modules) {
    const auto weight_of = [&](ModulePart part) {
        for (const NamedModule& module : modules)
            if (module.part == part) return fmt::format("{}.weight", module.name);
        return std::string();
    };
    const std::string embedding = weight_of(ModulePart::embedding), head = weight_of(ModulePart::head);
    const auto shared = shared_by_layers(document);
    bool tied = false;
    for (const std::vector<std::string>& names : document.ties) {
        if (names.front() == bias_of_head(document) || shared.contains(names.back())) continue;
        const bool both = names.size() <= 3 && std::count(names.begin(), names.end(), embedding) == 1 &&
                          std::count(names.begin(), names.end(), head) == 1;
        if (!both)
            refuse_network(
                document, fmt::format("{} and {} are one tensor, which is not supported", names.front(), names.back()),
                "only the embedding and the head may share a weight, or layers what each has under the same name");
        tied = true;
    }
    return tied;
}

}  // namespace

std::vector<std::int64_t> sizes_of(const Parameter& parameter) {
    std::vector<std::int64_t> sizes;
    for (const Argument& size : parameter.sizes) {
        if (size.is(Argument::Kind::integer) && size.integer < 1)
            throw Error(ErrorKind::invalid, parameter.name, fmt::format("a size of {}", size.integer),
                        "record the network again (tools/record)");
        if (!size.is(Argument::Kind::integer))
            throw Error(ErrorKind::unsupported, parameter.name,
                        "the recording says this parameter's sizes by keys of a configuration",
                        "record the network without --vary");
        sizes.push_back(size.integer);
    }
    return sizes;
}

// A config.json has no such text.
bool is_network(std::string_view text) { return text.find("\"vramfit.network/") != text.npos; }

std::vector<NamedModule> modules_in(const Document& document) {
    std::vector<NamedModule> modules;
    const std::string towers = decoder_beside_towers(document);
    const std::vector<std::string> others = other_tables(document);
    for_each_kind(document, [&](const std::string& path, const ModuleKind& kind) {
        if (path.empty() || std::find(others.begin(), others.end(), path) != others.end()) return;
        modules.push_back(named_module(path, kind, is_inside(path, towers) ? layer_of(path) : -1));
    });
    mark_parts(document, modules);
    return modules;
}

namespace {

/// Transformers' classes, DBRX's among them (DbrxExpertGLU), say it in their names.
bool is_experts(const ModuleKind& kind) {
    return !kind.parameters.empty() && kind.class_name.find("Expert") != std::string::npos;
}

}  // namespace

bool has_experts(const Document& document) {
    return std::any_of(document.kinds.begin(), document.kinds.end(), is_experts);
}

bool has_experts(const ModelSpec& model) { return model.mixture || (model.recording && has_experts(*model.recording)); }

std::int64_t parameters_of_experts(const Document& document) {
    std::int64_t sum = 0;
    for_each_kind(document, [&](const std::string&, const ModuleKind& kind) {
        if (!is_experts(kind)) return;
        for (const Parameter& parameter : kind.parameters) {
            std::int64_t numbers = 1;
            for (const std::int64_t size : sizes_of(parameter)) numbers = checked_mul(numbers, size);
            sum = checked_add(sum, numbers);
        }
    });
    return sum;
}

std::vector<OwnModule> modules_of_their_own_kind(const Document& document) {
    std::vector<OwnModule> found;
    for_each_kind(document, [&](const std::string& path, const ModuleKind& kind) {
        const bool own = (kind.leaf == Leaf::linear && !is_plain_linear(kind)) ||
                         (kind.leaf == Leaf::conv1d && !is_plain_matrix(kind, "Conv1D"));
        if (own) found.push_back({path, kind.class_name, is_derived_linear(kind)});
    });
    return found;
}

std::string derived_linear_class(const Document& document) {
    const auto found = std::find_if(document.kinds.begin(), document.kinds.end(), is_derived_linear);
    return found == document.kinds.end() ? std::string() : found->class_name;
}

std::set<std::string> derived_linear_layers(const Document& document) {
    std::set<std::string> found;
    if (derived_linear_class(document).empty()) return found;
    for_each_kind(document, [&](const std::string& path, const ModuleKind& kind) {
        if (is_derived_linear(kind)) found.insert(path);
    });
    return found;
}

RopeParameters rope_parameters(const Document& document, std::string_view path, std::string_view buffer) {
    if (!is_inside(path, decoder_beside_towers(document))) return {"default", {}};
    Problems problems(document.file);
    const JsonValue whole = parse_json(document.config, problems);
    const auto part = [](const JsonValue* of, std::string_view key) {
        return of && of->kind == JsonValue::Kind::object ? of->find(key) : nullptr;
    };
    const JsonValue* rope = part(&decoder_config(whole), "rope_parameters");
    if (const std::size_t end = buffer.find("_inv_freq"); end != buffer.npos) rope = part(rope, buffer.substr(0, end));
    const JsonValue *type = part(rope, "rope_type"), *factor = part(rope, "partial_rotary_factor");
    RopeParameters out;
    if (type && type->kind == JsonValue::Kind::text) out.type = type->text;
    if (factor && factor->real != 0) out.partial_rotary_factor = factor->real;
    return out;
}

std::vector<Buffer> buffers_in(const Document& document) {
    std::vector<Buffer> all;
    for_each_kind(document, [&](const std::string& path, const ModuleKind& kind) {
        for (const Parameter& p : kind.buffers) all.push_back({path_inside(path, p.name), &p});
    });
    return all;
}

namespace {

bool has_rounds(const Document& document) {
    return std::any_of(document.programs.begin(), document.programs.end(), [](const Program& program) {
        return std::any_of(program.code.begin(), program.code.end(),
                           [](const Instruction& instruction) { return std::holds_alternative<Repeat>(instruction); });
    });
}

}  // namespace

std::vector<Buffer> made_values(const Document& document) {
    std::vector<Buffer> all;
    for_each_kind(document, [&](const std::string& path, const ModuleKind& kind) {
        for (const Parameter& p : kind.parameters)
            if (p.initial && (p.initial->of == DTypeName::Of::name || p.initial->of == DTypeName::Of::weights))
                all.push_back({path_inside(path, p.name), &p});
    });
    return all;
}

ModelSpec model_of(std::shared_ptr<const Document> document, std::string_view name) {
    if (document->head != "causal_lm")
        refuse_network(*document, fmt::format("networks with the head {} are not supported yet", document->head),
                       "record it with --head causal_lm");
    if (!document->kinds[document->root].parameters.empty())
        refuse_network(*document, "parameters of the network itself, in none of its modules, are not supported",
                       "report the recording, so that they are known");
    ModelSpec model;
    model.name = name;
    model.model_type = document->model_type;
    const std::vector<NamedModule> modules = modules_in(*document);
    int layers = 0;
    for (const NamedModule& module : modules) {
        layers = std::max(layers, module.layer + 1);
        if (module.part == ModulePart::embedding) {
            model.vocab_size = module.in;
            model.hidden_size = module.out;
        }
        if (module.kind == vramfit::ModuleKind::linear)
            model.intermediate_size =
                std::max({model.intermediate_size, module.part == ModulePart::head ? 0 : module.out, module.in});
        model.attention_bias = model.attention_bias || (module.bias && module.kind == vramfit::ModuleKind::linear);
    }
    if (model.vocab_size == 0)
        refuse_network(*document, "no embedding of tokens was recorded", "causal language models have one");
    if (layers == 0)
        refuse_network(*document, "no decoder layers were found (model.layers.0, h.0, blocks.0, ...)",
                       "report the recording, so that its layers are known");
    model.num_hidden_layers = layers;
    model.layer_types.assign(static_cast<std::size_t>(layers), LayerAttention::full);
    Problems problems(document->file);
    read_recorded_config(parse_json(document->config, problems), model);
    model.tie_word_embeddings = ties_embeddings(*document, modules);
    model.recording = std::move(document);
    try {
        std::int64_t sum = 0;
        for (const NamedModule& module : modules) sum = checked_add(sum, parameters_in(module));
        size_of(sum, DType::float64);
    } catch (const Error&) {
        throw Error(ErrorKind::invalid, model.recording->file,
                    "a network of these sizes has more bytes than 63 bits can count",
                    "record the network again (tools/record)");
    }
    return model;
}

}  // namespace vramfit::network

namespace vramfit {

bool lengths_are_apart(const ModelSpec& model, const TrainPlan& plan) {
    return generates_rows(plan.loop.kind) || (model.recording && network::has_rounds(*model.recording));
}

}  // namespace vramfit
