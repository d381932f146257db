// A step of ms-swift's GRPO: ms-swift 4.6 rlhf_trainers/grpo_trainer.py GRPOTrainer._prepare_inputs, compute_loss;
// trainers/mixin.py SwiftMixin._maybe_log_save_evaluate.
#include "engine/ops/pointwise.hpp"
#include "model/loops/trainer_parts.hpp"
#include "model/preferences/metrics.hpp"
#include "model/preferences/ms_swift/grpo_loss.hpp"

namespace vramfit::model {

Tensor swift_group_step(Trainer& trainer, const Place& place) {
    const Run& run = trainer.run;
    // TrainArgumentsMixin.logging_first_step, logging_steps: the loss of the steps before.
    constexpr std::int32_t kLoggingSteps = 5;
    if (place.micro <= 0 && (place.step == 1 || (place.step > 0 && place.step % kLoggingSteps == 0)))
        read_mean(trainer.total_loss);
    if (generates(run.plan, place))
        swift_roll_out(run, trainer.network, trainer.reference, place, trainer.swift_rollout);
    const auto steps = static_cast<std::size_t>(steps_per_generation(run.plan));
    const auto number = static_cast<std::size_t>(batch_number(run.plan, place));
    const SwiftGroup& group = trainer.swift_rollout.groups[number % steps];
    Tensor loss = swift_group_loss(run, trainer.network, group, place);
    empty_cache_by_steps(trainer, place);
    loss = div(loss, 1);  // self.current_gradient_accumulation_steps
    accelerator_backward(trainer, loss, place);
    return detach(loss);
}

}  // namespace vramfit::model
