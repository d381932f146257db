// Optimizers that the libraries stop with under FSDP, and what was not compared.
#include <fmt/format.h>

#include "spec/plan_check_parts.hpp"

namespace vramfit {

namespace {

/// transformers 5.17 trainer_optimizer.py _get_bitsandbytes_optimizer.
bool is_of_bitsandbytes(std::string_view optim) {
    if (optim == "adamw_8bit") return true;
    for (const char* word : {"bnb", "paged_", "lion_", "ademamix"})
        if (optim.find(word) != std::string_view::npos) return true;
    return false;
}

/// What stops over DTensors.
void check_fsdp2_optimizer(const std::string& optim, Problems& problems) {
    const auto stops = [&](std::string_view why) {
        problems.invalid("training.optim", fmt::format("{} under FSDP2: {}", optim, why),
                         "adamw_torch, adamw_torch_fused, sgd or rmsprop; or FSDP1 (--fsdp 1)");
    };
    // torch 2.11 optim/adagrad.py makes its states in the constructor; accelerate 1.15 accelerator.py _prepare_fsdp2
    // puts other parameters into its groups.
    if (optim == "adagrad") return stops("torch stops: KeyError: 'sum', its states are of parameters that are gone");
    // transformers 5.17 optimization.py Adafactor.step: exp_avg_sq_row and exp_avg_sq_col are no DTensors.
    if (optim == "adafactor") return stops("torch stops: aten.add_.Tensor got mixed torch.Tensor and DTensor");
    if (is_of_bitsandbytes(optim))
        stops(
            "torch stops: bitsandbytes.optimizer_update_32bit and optimizer_update_8bit_blockwise have no sharding "
            "strategy for DTensors");
}

void check_fsdp1_optimizer(const TrainPlan& plan, const Stack& stack, Problems& problems) {
    const TrainingPlan& training = plan.training;
    // torch 2.3 to 2.11 distributed/fsdp/sharded_grad_scaler.py ShardedGradScaler.unscale_ makes found_inf with one
    // dimension; optim/adam.py subtracts it from counters without one.
    if (training.fp16 && training.optim == "adamw_torch_fused" && stack.trainer_prepares_late_optimizers())
        problems.invalid("training.optim",
                         "adamw_torch_fused with fp16 under FSDP1: torch stops: output with shape [] doesn't match the "
                         "broadcast shape [1]",
                         "--optim adamw_torch (training.optim), or bf16");
    if (plan.distributed->shards_on_host() && training.optim == "adagrad")
        problems.unsupported("training.optim", "adagrad is not supported with FSDP1's cpu_offload",
                             "another optimizer, or no cpu_offload");
}

}  // namespace

void check_fsdp_optimizer(const TrainPlan& plan, const Stack& stack, Problems& problems) {
    if (plan.training.optim == "none")
        problems.unsupported("training.optim", "steps without an optimizer are not supported with FSDP", "adamw_torch");
    if (plan.distributed->as<Fsdp2Plan>()) return check_fsdp2_optimizer(plan.training.optim, problems);
    check_fsdp1_optimizer(plan, stack, problems);
}

}  // namespace vramfit
