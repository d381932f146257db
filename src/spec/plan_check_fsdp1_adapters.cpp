// Adapters that read matrices while FSDP1 has cut them, and those that were not compared.
#include <fmt/format.h>

#include "spec/plan_check_parts.hpp"

namespace vramfit {

void check_fsdp1_adapters(const TrainPlan& plan, const Stack& stack, const Fsdp1Plan& fsdp, Problems& problems) {
    if (!plan.peft) return;
    const LoraPlan& lora = *plan.peft;
    const bool more = lora.use_dora || lora.lora_bias || lora.bias != LoraBias::none || !lora.modules_to_save.empty();
    if (!stack.fsdp2_is_known() && (more || !lora.target_parameters.empty()))
        return problems.unsupported("peft", "under FSDP1 with these libraries only LoRA's two matrices are supported",
                                    "no use_dora, bias, lora_bias, modules_to_save, target_parameters, or the stack "
                                    "hf-2026-11");
    // peft 0.21 param_wrapper.py get_delta_factors.
    if (!lora.target_parameters.empty())
        problems.invalid(
            "peft.target_parameters",
            "peft stops: it reads the adapters' matrices, which FSDP1 has flattened and cut (RuntimeError: "
            "shape is invalid for input of size)",
            "target_modules, or FSDP2");
    if (!lora.use_dora) return;
    const bool cut = fsdp.sharding_strategy != FsdpStrategy::no_shard && plan.distributed->shard_size() > 1;
    if (!fsdp.use_orig_params &&
        (plan.training.bf16 || plan.training.fp16))  // torch/optim, _group_tensors_by_device_and_dtype
        problems.invalid("peft.use_dora",
                         "torch stops in the first step: flat parameters of DoRA's adapters and their gradients differ "
                         "in dtype (RuntimeError: Tensors of the same index must be on the same device and the same "
                         "dtype)",
                         "FSDP2");
    else if (fsdp.use_orig_params && cut)  // peft 0.21 dora.py get_lora_weight
        problems.invalid("peft.use_dora",
                         "peft stops: DoRA reads the shape of a matrix that FSDP1 has flattened and cut (IndexError: "
                         "tuple index out of range)",
                         "FSDP2");
    else if (!cut)
        problems.unsupported("peft.use_dora", "DoRA is not supported where FSDP1 cuts nothing", "FSDP2");
}

// peft 0.21 layer.py ParamWrapper reads A and B of routers and experts, with which "all-linear" begins in mixtures.
// Traced: "inconsistent tensor size", "is a view and its base or another view of its base has been modified inplace".
void check_fsdp1_targets(const TrainPlan& plan, const std::vector<LoraTarget>& targets, Problems& problems) {
    if (!plan.peft || !plan.peft->target_parameters.empty()) return;
    for (const LoraTarget& target : targets)
        if (!target.parameter.empty())
            return problems.invalid("peft.target_modules",
                                    fmt::format("peft stops: the adapter of {}.{} reads matrices that FSDP1 has "
                                                "flattened and cut (RuntimeError: inconsistent tensor size)",
                                                target.module.name, target.parameter),
                                    "target the attention alone, or FSDP2");
}

}  // namespace vramfit
