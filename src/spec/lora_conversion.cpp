// peft 0.20 and 0.21.2 utils/transformers_weight_conversion.py _convert_peft_config_moe.
#include "spec/lora_conversion.hpp"

#include <algorithm>
#include <regex>
#include <set>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "spec/last_part.hpp"
#include "spec/listed.hpp"
#include "spec/regular_expression.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/modules.hpp"
#include "vramfit/spec/suggest.hpp"

namespace vramfit {

namespace {

/// _MOE_TARGET_MODULE_MAPPING: a module of transformers 4 and the parameter that it is part of.
struct Renamed {
    std::string_view module;
    std::string_view parameter;
    bool fused = false;  ///< _MOE_FUSED_TARGETS
};

constexpr Renamed kMixtral[] = {
    {"gate", "gate.weight"}, {"w1", "gate_up_proj", true}, {"w3", "gate_up_proj", true}, {"w2", "down_proj"}};
constexpr Renamed kQwen[] = {{"gate", "gate.weight"},
                             {"gate_proj", "gate_up_proj", true},
                             {"up_proj", "gate_up_proj", true},
                             {"down_proj", "down_proj"}};

/// transformers 5.16 to 5.23 conversion_mapping.py _MODEL_TO_CONVERSION_PATTERN, and mixtral itself by peft.
constexpr std::string_view kLikeMixtral[] = {"mixtral", "minimax", "minimax_m2"};
/// qwen2_moe itself does not stand in it.
constexpr std::string_view kLikeQwen2Moe[] = {
    "afmoe",      "cohere2_moe", "deepseek_v2", "deepseek_v3",   "deepseek_v32", "dots1",          "ernie4_5_moe",
    "exaone_moe", "flex_olmo",   "glm4_moe",    "glm4_moe_lite", "glm_moe_dsa",  "hunyuan_v1_moe", "longcat_flash",
    "mellum",     "olmoe",       "qwen3_moe",   "qwen3_next",    "solar_open"};

std::span<const Renamed> renamed_in(const ModelSpec& model) {
    if (is_listed(kLikeMixtral, model.model_type)) return kMixtral;
    if (is_listed(kLikeQwen2Moe, model.model_type)) return kQwen;
    return {};
}

/// _resolve_string_target_modules of "all-linear": last parts of names, and all renamed modules.
std::set<std::string> all_linear(const ModelSpec& model, std::span<const Renamed> renamed) {
    std::set<std::string> names;
    for (const NamedModule& module : modules_of(model))
        if (module.kind == ModuleKind::linear && module.part != ModulePart::head) names.emplace(last_part(module.name));
    for (const Renamed& r : renamed) names.emplace(r.module);
    return names;
}

/// _resolve_string_target_modules of a regular expression: last parts of the names of modules and parameters that it
/// matches, and renamed modules whose name beside the parameter that they are part of it would match.
std::set<std::string> matched(const ModelSpec& model, const std::string& pattern, std::span<const Renamed> renamed) {
    const std::regex wanted = regular_expression(pattern, "peft.target_modules");
    std::set<std::string> names;
    const auto look_at = [&](const std::string& key, std::string_view name) {
        if (std::regex_match(key, wanted)) names.emplace(name);
    };
    for (const NamedModule& module : modules_of(model)) {
        look_at(module.name, last_part(module.name));
        for (const BareParameter& parameter : module.parameters) {
            look_at(fmt::format("{}.{}", module.name, parameter.name), parameter.name);
            for (const Renamed& r : renamed)
                if (parameter.name == r.parameter) look_at(fmt::format("{}.{}", module.name, r.module), r.module);
        }
    }
    return names;
}

void check_fused(std::span<const Renamed> renamed, const std::set<std::string_view>& present) {
    std::vector<std::string_view> given, missing;
    for (const Renamed& r : renamed)
        if (r.fused) (present.count(r.module) ? given : missing).push_back(r.module);
    if (given.empty() || missing.empty()) return;
    throw Error(
        ErrorKind::invalid, "peft.target_modules",
        fmt::format("peft: Cannot convert PEFT target(s) {} without also targeting {} because they are fused into "
                    "gate_up_proj",
                    fmt::join(given, ", "), fmt::join(missing, ", ")),
        fmt::format("give {} too, or leave {} out", fmt::join(missing, ", "), fmt::join(given, ", ")));
}

}  // namespace

LoraPlan converted_lora(const ModelSpec& model, const LoraPlan& plan) {
    const std::span<const Renamed> renamed = renamed_in(model);
    if (renamed.empty() || !model.adapters_reach_experts) return plan;
    LoraPlan out = plan;
    std::vector<std::string> targets;
    if (const auto* text = std::get_if<std::string>(&plan.target_modules)) {
        const std::set<std::string> names =
            lower_case(*text) == "all-linear" ? all_linear(model, renamed) : matched(model, *text, renamed);
        if (names.empty()) return plan;
        targets.assign(names.begin(), names.end());
    } else {
        targets = std::get<std::vector<std::string>>(plan.target_modules);
    }
    std::vector<std::string> remaining;
    std::set<std::string_view> present;
    for (const std::string& target : targets) {
        const auto found = std::find_if(renamed.begin(), renamed.end(), [&](const Renamed& r) {
            return target == r.module || target.ends_with(fmt::format(".{}", r.module));
        });
        if (found == renamed.end()) {
            remaining.push_back(target);
            continue;
        }
        present.insert(found->module);
        out.target_parameters.emplace_back(found->parameter);
    }
    check_fused(renamed, present);
    if (present.count(renamed[1].module)) {  // both parts are there: twice the rank, and alpha to keep the scaling
        out.rank_pattern.emplace_back(".*\\.gate_up_proj", 2 * plan.r);
        out.alpha_pattern.emplace_back(".*\\.gate_up_proj", 2 * plan.lora_alpha);
    }
    out.target_modules = std::move(remaining);
    return out;
}

}  // namespace vramfit
