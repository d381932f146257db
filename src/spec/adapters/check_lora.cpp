// LoRA: what peft stops at, and parameters that adapters were not compared on.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "spec/adapters/read.hpp"
#include "spec/last_part.hpp"
#include "spec/listed.hpp"
#include "spec/plan_check_parts.hpp"
#include "vramfit/spec/modules.hpp"
#include "vramfit/spec/plan_names.hpp"
#include "vramfit/spec/suggest.hpp"

namespace vramfit {

namespace {

void refuse_no_target(const ModelSpec& model, const LoraPlan& lora, Problems& problems) {
    const std::vector<std::string> names = targetable_names(model);
    const auto* given_names = std::get_if<std::vector<std::string>>(&lora.target_modules);
    if (model.recording && given_names && given_names->empty())
        return problems.invalid(
            "peft.target_modules",
            fmt::format("peft has no default targets for {}: they have to be named", model.model_type),
            fmt::format("the network has {}; \"all-linear\" means all but the head", fmt::join(names, ", ")));
    const std::vector<std::string_view> known(names.begin(), names.end());
    std::string given = "the pattern";
    std::string hint;
    if (const auto* list = std::get_if<std::vector<std::string>>(&lora.target_modules)) {
        given = fmt::format("{}", fmt::join(*list, ", "));
        if (!list->empty()) hint = nearest(list->front(), known);
    } else {
        given = std::get<std::string>(lora.target_modules);
    }
    const std::string all =
        fmt::format("the network has {}; \"all-linear\" means all but the head", fmt::join(names, ", "));
    problems.invalid("peft.target_modules",
                     fmt::format("'{}' matches no module (peft: NoMatchingPeftModuleError)", given),
                     hint.empty() ? all : fmt::format("did you mean '{}'? {}", hint, all));
}

// peft 0.21.2, tuners/lora/layer.py, ParamWrapper.__init__; other parameters than those of experts and routers are not
// covered here.
void check_parameters(const ModelSpec& model, const LoraPlan& lora, const std::vector<LoraTarget>& targets,
                      Problems& problems) {
    const bool any =
        std::any_of(targets.begin(), targets.end(), [](const LoraTarget& t) { return !t.parameter.empty(); });
    if (!lora.target_parameters.empty() && !any)
        problems.unsupported("peft.target_parameters", "matches no parameter of experts or routers",
                             model.mixture ? "mlp.experts.gate_up_proj, mlp.experts.down_proj" : "give target_modules");
    if (!any) return;
    const auto refuse = [&](bool given, std::string_view where, std::string_view what) {
        if (given)
            problems.invalid(where,
                             fmt::format("adapters on experts (peft: lora.ParamWrapper does not work with {})", what),
                             "leave it out, or target the attention alone");
    };
    refuse(lora.lora_dropout != 0, "peft.lora_dropout", "lora_dropout != 0.");
    refuse(lora.fan_in_fan_out, "peft.fan_in_fan_out", "fan_in_fan_out.");
    refuse(lora.lora_bias, "peft.lora_bias", "lora_bias=True.");
    refuse(lora.use_dora, "peft.use_dora", "use_dora=True.");
}

// Modules whose matrices are smaller than a rank, and the largest rank that all of them can have.
struct TooNarrow {
    std::string names;
    std::int64_t most;
};

}  // namespace

// peft 0.20.0 and 0.21.2, tuners/tuners_utils.py, _check_lora_target_modules_mamba.
void check_mamba_targets(const ModelSpec& model, const LoraPlan& lora, const std::vector<LoraTarget>& targets,
                         Problems& problems) {
    constexpr std::string_view kTypes[] = {"falcon_h1", "mamba", "mamba2", "falcon_mamba", "nemotron_h"};
    constexpr std::string_view kModules[] = {"out_proj", "conv1d"};
    const AdapterKind kind = lora.kind;
    const bool is_like_lora =
        kind == AdapterKind::lora || kind == AdapterKind::adalora || kind == AdapterKind::randlora;
    if (!is_like_lora || !is_listed(kTypes, model.model_type)) return;
    for (const LoraTarget& target : targets)
        if (const std::string_view name = last_part(target.module.name); is_listed(kModules, name))
            return problems.invalid(
                "peft.target_modules",
                fmt::format("peft stops: Module '{}' is incompatible with Mamba-based models (model_type='{}')", name,
                            model.model_type),
                "name modules, without out_proj and conv1d");
}

// peft 0.21.2, tuners/lora/config.py, LoraConfig.__post_init__, and tuners/lora/model.py, _create_new_module.
void check_lora(const ModelSpec& model, const LoraPlan& lora, const std::vector<LoraTarget>& targets,
                Problems& problems) {
    const bool pattern = std::holds_alternative<std::string>(lora.target_modules);
    if (pattern && lora.layers_to_transform)
        problems.invalid("peft.layers_to_transform", "cannot be used when target_modules is one text",
                         "give target_modules as a list");
    if (!lora.layers_pattern.empty() && !lora.layers_to_transform)
        problems.invalid("peft.layers_pattern", "is used only with layers_to_transform",
                         "give layers_to_transform too, or leave it out");
    if (targets.empty()) return refuse_no_target(model, lora, problems);
    if (lora.is_variant()) check_variant(lora, targets, problems);
    check_token_indices(model, lora, problems);
    check_parameters(model, lora, targets, problems);
    check_mamba_targets(model, lora, targets, problems);
    std::map<std::int64_t, TooNarrow> too_narrow;  // by rank
    std::vector<std::string> reported;
    for (const LoraTarget& target : targets) {
        const std::string last = target.module.name.substr(target.module.name.rfind('.') + 1);
        if (!target.parameter.empty() || std::find(reported.begin(), reported.end(), last) != reported.end()) continue;
        const std::int64_t larger = std::max(target.module.in, target.module.out);
        if (!is_targetable(target.module.kind)) {
            problems.invalid(
                "peft.target_modules",
                fmt::format("'{}' is no linear layer and no embedding (peft: target module is not supported)",
                            target.module.name),
                fmt::format("possible: {}", fmt::join(targetable_names(model), ", ")));
        } else if (target.r > larger) {
            const std::string matrix =
                fmt::format("{} ({} x {})", target.module.name, target.module.in, target.module.out);
            TooNarrow& modules = too_narrow.try_emplace(target.r, TooNarrow{"", larger}).first->second;
            modules.names += (modules.names.empty() ? "" : ", ") + matrix;
            modules.most = std::min(modules.most, larger);
        } else {
            continue;
        }
        reported.push_back(last);
    }
    for (const auto& [r, modules] : too_narrow)
        problems.invalid("peft.r", fmt::format("rank {} is above both sides of {}", r, modules.names),
                         fmt::format("at most {}", modules.most));
}

}  // namespace vramfit
