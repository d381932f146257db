// The modules of a network by their names in transformers, and which of them adapters are put on.
#include "vramfit/spec/modules.hpp"

#include <algorithm>
#include <optional>
#include <regex>

#include <fmt/format.h>

#include "spec/config_family.hpp"
#include "spec/last_part.hpp"
#include "spec/lora_conversion.hpp"
#include "spec/network/model.hpp"
#include "spec/regular_expression.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/config.hpp"
#include "vramfit/spec/suggest.hpp"

namespace vramfit {

namespace {

bool is_or_ends_with(std::string_view name, std::string_view part) {
    return name == part ||
           (name.size() > part.size() && name.ends_with(part) && name[name.size() - part.size() - 1] == '.');
}

bool matches_any(std::string_view name, const std::vector<std::string>& parts) {
    return std::any_of(parts.begin(), parts.end(),
                       [&](const std::string& part) { return is_or_ends_with(name, part); });
}

// peft 0.21.2, tuners/tuners_utils.py, check_target_module_exists, for one plan.
class Matcher {
  public:
    explicit Matcher(const LoraPlan& plan) : plan_(plan) {
        if (const auto* pattern = std::get_if<std::string>(&plan.target_modules)) {
            all_linear_ = lower_case(*pattern) == "all-linear";
            if (!all_linear_) target_ = regular_expression(*pattern, "peft.target_modules");
        }
        if (plan.exclude_modules) {
            if (const auto* pattern = std::get_if<std::string>(&*plan.exclude_modules))
                exclude_ = regular_expression(*pattern, "peft.exclude_modules");
        }
        for (const std::string& name : plan.modules_to_save)
            saved_.push_back(regular_expression(fmt::format("(^|.*\\.){}($|\\..*)", name), "peft.modules_to_save"));
        for (const std::string& name : plan.layers_pattern)
            layers_.push_back(
                regular_expression(fmt::format("(?:^|.*?\\.){}\\.([0-9]+)\\..*", name), "peft.layers_pattern"));
        for (const auto& [key, r] : plan.rank_pattern)
            ranks_.emplace_back(regular_expression(fmt::format("(.*\\.)?({})", key), "peft.rank_pattern"), r);
        for (const auto& [key, alpha] : plan.alpha_pattern)
            alphas_.emplace_back(regular_expression(fmt::format("(.*\\.)?({})", key), "peft.alpha_pattern"), alpha);
    }

    bool targets(const NamedModule& module) const {
        if (excluded(module.name)) return false;
        // all-linear: every linear layer but the head (_maybe_include_all_linear_layers).
        if (all_linear_)
            return (module.kind == ModuleKind::linear || module.kind == ModuleKind::conv1d) &&
                   module.part != ModulePart::head;
        if (target_) return std::regex_match(module.name, *target_);
        const auto& names = std::get<std::vector<std::string>>(plan_.target_modules);
        if (std::find(names.begin(), names.end(), module.name) != names.end())
            return true;  // a full name: layers do not count
        return matches_any(module.name, names) && layer_chosen(module);
    }

    LoraTarget target_of(NamedModule module, std::string parameter = {}) const {
        LoraTarget target{std::move(module), plan_.r, plan_.lora_alpha, std::move(parameter), false};
        const std::string key =
            target.parameter.empty() ? target.module.name : fmt::format("{}.{}", target.module.name, target.parameter);
        const auto first = [&](const auto& patterns, auto& value) {
            for (const auto& [pattern, own] : patterns) {
                if (!std::regex_match(key, pattern)) continue;
                value = own;
                return true;
            }
            return false;
        };
        target.has_own_rank = first(ranks_, target.r);
        first(alphas_, target.alpha);
        return target;
    }

  private:
    bool excluded(const std::string& name) const {
        if (exclude_ && std::regex_match(name, *exclude_)) return true;
        if (plan_.exclude_modules && !exclude_ &&
            matches_any(name, std::get<std::vector<std::string>>(*plan_.exclude_modules)))
            return true;
        return std::any_of(saved_.begin(), saved_.end(),
                           [&](const std::regex& saved) { return std::regex_match(name, saved); });
    }
    bool layer_chosen(const NamedModule& module) const {
        if (!plan_.layers_to_transform || plan_.layers_to_transform->empty()) return true;
        const std::string number = layers_.empty() ? number_in(module.name) : number_behind(module.name);
        return std::any_of(plan_.layers_to_transform->begin(), plan_.layers_to_transform->end(),
                           [&](std::int64_t layer) { return number == std::to_string(layer); });
    }
    /// The first number in a name that two names at least stand before, whichever list it counts: a tower's as well.
    static std::string number_in(std::string_view name) {
        const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
        for (std::size_t names = 0, dot = name.find('.'); dot != name.npos; ++names, dot = name.find('.')) {
            const std::string_view part = name.substr(0, dot);
            if (names >= 2 && !part.empty() && std::all_of(part.begin(), part.end(), is_digit))
                return std::string(part);
            name.remove_prefix(dot + 1);
        }
        return {};
    }
    /// The number behind the first of layers_pattern that is in the name.
    std::string number_behind(const std::string& name) const {
        std::smatch found;
        for (const std::regex& layers : layers_)
            if (std::regex_match(name, found, layers)) return found[found.size() - 1].str();
        return {};
    }

    const LoraPlan& plan_;
    bool all_linear_ = false;
    std::optional<std::regex> target_, exclude_;
    std::vector<std::regex> saved_, layers_;
    std::vector<std::pair<std::regex, std::int64_t>> ranks_;
    std::vector<std::pair<std::regex, double>> alphas_;
};

void add_once(std::vector<std::string>& names, std::string name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
}

/// Whether the group holds the module. transformers calls the blocks self_attn, attn, attention; mlp, feed_forward.
bool group_holds(std::string_view group, const NamedModule& module) {
    const std::string_view name = module.name;
    if (group == "embedding") return module.kind == ModuleKind::embedding;
    if (!is_targetable(module.kind) || module.layer < 0) return false;
    const bool attention = name.find("attn.") != name.npos || name.find("attention.") != name.npos;
    return group == "all-linear" || (group == "attention") == attention;
}

}  // namespace

namespace {

/// peft 0.21.2, utils/constants.py, TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING: causal language models.
std::vector<std::string> targets_in_peft(std::string_view model_type) {
    struct Row {
        std::string_view model_type;
        std::vector<std::string> targets;
    };
    static const Row kRows[] = {{"gpt2", {"c_attn"}},
                                {"bloom", {"query_key_value"}},
                                {"opt", {"q_proj", "v_proj"}},
                                {"gptj", {"q_proj", "v_proj"}},
                                {"gpt_neox", {"query_key_value"}},
                                {"gpt_neo", {"q_proj", "v_proj"}},
                                {"llama", {"q_proj", "v_proj"}},
                                {"llama4", {"q_proj", "v_proj"}},
                                {"chatglm", {"query_key_value"}},
                                {"gpt_bigcode", {"c_attn"}},
                                {"mpt", {"Wqkv"}},
                                {"falcon", {"query_key_value"}},
                                {"btlm", {"c_proj", "c_attn"}},
                                {"codegen", {"qkv_proj"}},
                                {"mistral", {"q_proj", "v_proj"}},
                                {"mixtral", {"q_proj", "v_proj"}},
                                {"stablelm", {"q_proj", "v_proj"}},
                                {"phi", {"q_proj", "v_proj", "fc1", "fc2"}},
                                {"gemma", {"q_proj", "v_proj"}},
                                {"gemma2", {"q_proj", "v_proj"}},
                                {"gemma3_text", {"q_proj", "v_proj"}},
                                {"qwen2", {"q_proj", "v_proj"}},
                                {"qwen3", {"q_proj", "v_proj"}},
                                {"nemotron_h", {"q_proj", "k_proj", "v_proj", "o_proj"}},
                                {"rwkv", {"key", "value", "receptance", "output"}},
                                {"rwkv7", {"r_proj", "k_proj", "v_proj", "o_proj", "key", "value"}}};
    for (const Row& row : kRows)
        if (row.model_type == model_type) return row.targets;
    return {};
}

}  // namespace

bool is_targetable(ModuleKind kind) {
    return kind == ModuleKind::linear || kind == ModuleKind::conv1d || kind == ModuleKind::embedding;
}

std::vector<NamedModule> modules_of(const ModelSpec& model) {
    if (model.recording) return network::modules_in(*model.recording);
    const ConfigFamily& family = known_family(model.model_type);
    const ModuleNames& names = family.names;
    std::vector<NamedModule> modules;
    const auto inside = [&](std::string_view name) { return fmt::format("{}.{}", names.base, name); };
    const auto other = [&](std::string_view name) {
        if (!name.empty()) modules.push_back({inside(name), ModuleKind::other, -1, 0, 0});
    };
    const auto table = [&](std::string_view name, ModulePart part, std::int64_t rows) {
        if (!name.empty()) modules.push_back({inside(name), ModuleKind::embedding, -1, rows, model.hidden_size, part});
    };
    modules.push_back({std::string(names.base), ModuleKind::other, -1, 0, 0});
    table(names.embedding, ModulePart::embedding, model.vocab_size);
    table(names.positions, ModulePart::positions, model.max_position_embeddings);
    other(names.dropout);
    other(names.layers);
    for (std::int64_t i = 0; i < model.num_hidden_layers; ++i) {
        const std::string at = fmt::format("{}.{}", inside(names.layers), i);
        modules.push_back({at, ModuleKind::other, static_cast<int>(i), 0, 0});
        LayerModules layer(at, static_cast<int>(i), modules);
        family.layer(model, layer);
    }
    modules.push_back(
        {inside(names.norm), ModuleKind::norm, -1, 0, model.hidden_size, ModulePart::final_norm, names.norm_bias});
    other(names.rotary);
    if (model.num_labels > 0) {  // modeling_layers.py GenericForSequenceClassification, and the families' own
        modules.push_back({"score", ModuleKind::linear, -1, model.hidden_size, model.num_labels, ModulePart::head,
                           model.labels_tokens});
        return modules;
    }
    modules.push_back({std::string(names.head), ModuleKind::linear, -1, model.hidden_size, model.vocab_size,
                       ModulePart::head, model.head_bias});
    modules.back().published = names.published_head;
    return modules;
}

std::vector<LoraTarget> lora_targets(const ModelSpec& model, const LoraPlan& plan) {
    if (!wraps_modules(facts_of(plan.kind))) return {};
    const LoraPlan converted = converted_lora(model, plan);
    const Matcher matcher(converted);
    const std::vector<NamedModule> modules = modules_of(model);
    std::vector<LoraTarget> targets;
    for (const NamedModule& module : modules)
        if (matcher.targets(module)) targets.push_back(matcher.target_of(module));
    // tuners_utils.py _inject_parameters: behind all modules.
    for (const NamedModule& module : modules) {
        if (module.kind == ModuleKind::linear && matches_any(module.name + ".weight", converted.target_parameters))
            throw Error(ErrorKind::unsupported, "peft.target_modules",
                        fmt::format("peft adapts {}.weight as a parameter, as it does experts, which is not supported "
                                    "for a linear layer",
                                    module.name),
                        fmt::format("a list of target_modules without '{}'", last_part(module.name)));
        for (const BareParameter& p : module.parameters)
            if (matches_any(fmt::format("{}.{}", module.name, p.name), converted.target_parameters))
                targets.push_back(matcher.target_of(module, p.name));
    }
    return targets;
}

// peft 0.21.2, utils/constants.py, TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING, as far as it has the family;
// the same for the others. Of a recorded network only what is there: peft asks for the targets of other types.
std::vector<std::string> default_targets(const ModelSpec& model) {
    if (model.recording) return targets_in_peft(model.model_type);
    std::vector<std::string> names;
    for (const NamedModule& module : modules_of(model)) {
        const bool chosen = module.part == ModulePart::query || module.part == ModulePart::value ||
                            module.part == ModulePart::query_key_value;
        if (chosen && module.layer == 0) names.emplace_back(last_part(module.name));
    }
    return names;
}

std::vector<std::string> targetable_names(const ModelSpec& model) {
    std::vector<std::string> names;
    for (const NamedModule& module : modules_of(model)) {
        if (is_targetable(module.kind)) add_once(names, std::string(last_part(module.name)));
    }
    return names;
}

bool is_module_group(std::string_view word) {
    return word == "attention" || word == "mlp" || word == "embedding" || word == "all-linear";
}

std::vector<std::string> group_names(const ModelSpec& model, std::string_view group) {
    std::vector<std::string> names;
    for (const NamedModule& module : modules_of(model)) {
        if (group_holds(group, module)) add_once(names, std::string(last_part(module.name)));
    }
    return names;
}

}  // namespace vramfit
