// peft 0.21.2 utils/transformers_weight_conversion.py _convert_peft_config_moe.
#include "spec/lora_conversion.hpp"

#include <algorithm>
#include <set>
#include <span>
#include <string_view>

#include <fmt/format.h>

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

/// _MODEL_TO_CONVERSION_PATTERN: qwen3_moe stands in it, qwen2_moe itself does not.
std::span<const Renamed> renamed_in(const ModelSpec& model) {
    if (model.model_type == "mixtral") return kMixtral;
    if (model.model_type == "qwen3_moe") return kQwen;
    return {};
}

/// _resolve_string_target_modules of "all-linear": last parts of names, and all renamed modules.
std::vector<std::string> all_linear(const ModelSpec& model, std::span<const Renamed> renamed) {
    std::set<std::string> names;
    for (const NamedModule& module : modules_of(model))
        if (module.kind == ModuleKind::linear && module.part != ModulePart::head)
            names.insert(module.name.substr(module.name.rfind('.') + 1));
    for (const Renamed& r : renamed) names.emplace(r.module);
    return {names.begin(), names.end()};
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
    if (renamed.empty()) return plan;
    LoraPlan out = plan;
    std::vector<std::string> targets;
    if (const auto* text = std::get_if<std::string>(&plan.target_modules)) {
        if (lower_case(*text) != "all-linear")
            throw Error(ErrorKind::unsupported, "peft.target_modules",
                        "a regular expression for a mixture of experts is not supported",
                        "a list of names, or all-linear");
        targets = all_linear(model, renamed);
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
