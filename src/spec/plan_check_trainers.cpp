// What some trainers put in beside transformers' own Trainer.
#include "spec/plan_check_parts.hpp"

namespace vramfit {

void check_trainers_own(const TrainPlan& plan, Problems& problems) {
    const TrainingPlan& training = plan.training;
    if (training.cut_cross_entropy && (!uses_trainer(plan) || plan.loop.kind == LoopKind::sft))
        problems.unsupported("training.cut_cross_entropy", "cut cross entropy is predicted with transformers' Trainer",
                             "choose loop.kind trainer");
    if (training.cut_cross_entropy && training.use_liger_kernel)
        problems.unsupported("training.cut_cross_entropy", "together with Liger's kernels it is not predicted",
                             "leave out one of them");
    if (!training.optimizer_in_backward) return;
    if (!uses_trainer(plan) || plan.distributed || training.fp16)
        problems.unsupported("training.optimizer_in_backward",
                             "it is predicted with transformers' Trainer on one GPU, without fp16",
                             "choose loop.kind trainer");
    if (training.gradient_accumulation_steps > 1)
        problems.invalid("training.gradient_accumulation_steps",
                         "gradients are gone after each backward pass (torchtune full_finetune_single_device.py: "
                         "gradient accumulation is not supported with optimizer_in_bwd)",
                         "1");
    if (training.max_grad_norm > 0)
        problems.invalid("training.max_grad_norm",
                         "gradients are gone before they could be clipped (torchtune full_finetune_single_device.py: "
                         "clipping is not supported with optimizer_in_bwd)",
                         "0");
}

}  // namespace vramfit
