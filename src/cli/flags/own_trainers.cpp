// Adapters that SFTTrainer makes, and LLaMA-Factory's and ms-swift's own trainers: what a plan has where no flag says
// otherwise.
#include <fmt/format.h>

#include "cli/flags/tables.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/pair_rows.hpp"
#include "vramfit/spec/stacks.hpp"

namespace vramfit::cli {

namespace {

constexpr const char* kFactoryStack = "llamafactory-0.9.5";
constexpr const char* kSwiftStack = "swift-4.6";

/// LLaMA-Factory's recipe asks for its own, and so do both stacks, whose trl has trainers that are not predicted.
TrainerMaker maker_of(const Job& job) {
    const bool by_recipe = job.plan.preference.maker == TrainerMaker::llama_factory;
    if (by_recipe || job.stack.name == kFactoryStack) return TrainerMaker::llama_factory;
    return job.stack.name == kSwiftStack ? TrainerMaker::ms_swift : TrainerMaker::trl;
}

/// ms-swift 4.6 arguments/rlhf_args.py: what it sets, and what it has no argument for.
void settle_swift_groups(GrpoPlan& groups, const IsGiven& given) {
    for (const char* flag : {"use_bias_correction_kl", "mask_truncated_completions"})
        if (given(flag))
            throw Error(ErrorKind::invalid, fmt::format("--{}", flag), "ms-swift's GRPOTrainer has no such argument",
                        "leave it out");
    const GrpoPlan otherwise = plan_of_swift_groups();
    if (!given("loss_type")) groups.loss = otherwise.loss;
    if (!given("temperature")) groups.has_temperature = otherwise.has_temperature;
    settle_swift_sampling(groups);
}

}  // namespace

void settle_own_trainers(Job& job, const IsGiven& given) {
    TrainPlan& plan = job.plan;
    plan.sft_makes_adapters = plan.loop.kind == LoopKind::sft && plan.peft && is_zero3(plan);
    plan.preference.maker = is_preference(plan.loop.kind) ? maker_of(job) : TrainerMaker::trl;
    if (!by_own_trainer(plan)) return;
    plan.trl_makes_adapters = false;
    plan.training.max_length.reset();
    // LLaMA-Factory's use_reentrant_gc; ms-swift 4.6 trainers/mixin.py _fix_gradient_checkpointing,
    // utils/torch_utils.py get_default_device_map.
    const bool is_ddp = by_ms_swift(plan) && plan.distributed && plan.distributed->as<DdpPlan>();
    plan.training.use_reentrant = plan.training.use_reentrant.value_or(!is_ddp);
    if (is_ddp) plan.distributed->load_on_device = true;
    if (by_ms_swift(plan)) {
        plan.training.router_aux_loss_coef = 0;  // trainers/arguments.py TrainArgumentsMixin
        plan.training.weight_decay = kSwiftWeightDecay;
        if (plan.loop.kind == LoopKind::grpo) settle_swift_groups(plan.preference.grpo, given);
        return;
    }
    if (!given("stack")) job.stack = stack_from(kFactoryStack).stack;
    if (plan.loop.kind == LoopKind::cpo && !given("loss_type")) plan.preference.contrast_loss = ContrastLoss::simpo;
    pad_rows(plan.batch, kFactoryMultiple);
}

}  // namespace vramfit::cli
