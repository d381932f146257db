// FSDP's units by size: what the libraries stop at, and what was not compared.
#include <algorithm>

#include <fmt/format.h>

#include "spec/plan_check_parts.hpp"
#include "vramfit/base/checked.hpp"
#include "vramfit/spec/config.hpp"
#include "vramfit/spec/modules.hpp"
#include "vramfit/spec/size_units.hpp"

namespace vramfit {

namespace {

constexpr const char* kLeast = "distributed.fsdp_config.min_num_params";
constexpr const char* kByClass = "auto_wrap_policy TRANSFORMER_BASED_WRAP (--fsdp-auto-wrap-policy)";

/// torch 2.11.0, distributed/fsdp/_fully_shard/_fsdp_init.py _validate_module: accelerate 1.15.0, utils/fsdp_utils.py
/// fsdp2_prepare_auto_wrap_policy wraps all modules beyond the size, lists of layers among them.
void check_groups_by_size(const ModelSpec& model, std::int64_t least, Problems& problems) {
    if (checked_mul(model.num_hidden_layers, layer_parameters(model)) > least)
        return problems.invalid(kLeast,
                                fmt::format("torch stops: the list of layers has more than {} parameters (fully_shard "
                                            "does not support containers that do not implement forward: ModuleList)",
                                            least),
                                kByClass);
    if (total_parameters(model) > least)
        problems.unsupported(kLeast, "units of more than decoder layers are not supported under FSDP2", kByClass);
}

std::string name_of(const ModelSpec& model, ModulePart part) {
    for (const NamedModule& module : modules_of(model))
        if (module.part == part) return module.name;
    return "";
}

/// trl 1.16.0, trainer/sft_trainer.py: the loss reads the head's weight, and the head itself does not run.
void check_head_of_sft(const ModelSpec& model, const std::vector<std::string>& units, Problems& problems) {
    if (std::find(units.begin(), units.end(), name_of(model, ModulePart::head)) == units.end()) return;
    problems.invalid(kLeast,
                     "torch stops in the first forward: trl's SFTTrainer reads the head's weight, and its unit has not "
                     "gathered it (mat2 must be a matrix)",
                     kByClass);
}

/// What embedding and head share: once the embedding has become part of a unit, the head has a piece of one dimension.
void check_shared_weight(const ModelSpec& model, const std::vector<std::string>& units, const Fsdp1Plan& fsdp,
                         Problems& problems) {
    if (!model.tie_word_embeddings) return;
    const std::string embedding = name_of(model, ModulePart::embedding);
    for (const std::string& unit : units) {
        if (!is_inside(embedding, unit)) continue;
        if (fsdp.sharding_strategy == FsdpStrategy::no_shard)
            problems.unsupported(kLeast, "a head whose weight is in a unit of the embedding is not supported",
                                 kByClass);
        else
            problems.invalid(
                kLeast,
                fmt::format("torch stops in the first forward: the unit {} takes the weight that embedding "
                            "and head share (size mismatch)",
                            unit),
                kByClass);
        return;
    }
}

}  // namespace

void check_size_units(const ModelSpec& model, const TrainPlan& plan, Problems& problems) {
    if (!plan.distributed) return;
    const Fsdp2Plan* const fsdp2 = plan.distributed->as<Fsdp2Plan>();
    if (fsdp2 && fsdp2->wrap_policy == WrapPolicy::size_based)
        check_groups_by_size(model, fsdp2->min_num_params, problems);
    const Fsdp1Plan* const fsdp1 = plan.distributed->as<Fsdp1Plan>();
    if (!fsdp1 || fsdp1->wrap_policy != WrapPolicy::size_based || plan.peft)
        return;  // with adapters peft's policy is it
    const std::vector<std::string> units = size_units(model, fsdp1->min_num_params);
    check_shared_weight(model, units, *fsdp1, problems);
    if (plan.loop.kind == LoopKind::sft) check_head_of_sft(model, units, problems);
}

}  // namespace vramfit
