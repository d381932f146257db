// transformers 4.40 trainer.py: _inner_training_loop, training_step, compute_loss.
#include <fmt/format.h>

#include "engine/ops/pointwise.hpp"
#include "model/loops/batch.hpp"
#include "model/loops/evaluation.hpp"
#include "model/loops/trainer_parts.hpp"
#include "model/parallel/collectives.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// The result is a tensor of its own: loss.detach() / gradient_accumulation_steps.
Tensor training_step(Trainer& trainer, const Batch& batch, const Place& place) {
    const Tensor loss = wrapped_forward(trainer, batch, {}, place).loss;  // compute_loss
    empty_cache_by_steps(trainer, place);
    accelerator_backward(trainer, loss, place);
    return div(detach(loss), 1);
}

}  // namespace

// The callback on_train_end is called inside of the function: its local variables are still alive then.
void training_loop_4_40(Trainer& trainer) {
    Session& session = trainer.session();
    const auto micros = static_cast<std::int32_t>(trainer.args().gradient_accumulation_steps);
    Tensor total_loss = std::move(trainer.total_loss);
    Batch inputs;
    Tensor step_loss, grad_norm;
    for (std::int32_t step = 0; step < trainer.run.plan.loop.steps; ++step) {
        for (std::int32_t micro = 0; micro < micros; ++micro) {
            const Place place{step, micros > 1 ? micro : -1};
            session.recorder.begin({PhaseKind::inputs, step, place.micro});
            inputs = fetch_batch(trainer.run);
            step_loss = training_step(trainer, inputs, place);
            look_at_loss(step_loss);
            add_(total_loss, step_loss);
        }
        if (trainer.zero) {
            after_zero_step(trainer, step);
            continue;
        }
        session.recorder.mark(fmt::format("step{}.after_backward", step + 1));
        if (trainer.args().max_grad_norm > 0.0) {
            session.recorder.begin({PhaseKind::clip, step});
            grad_norm = clip_gradients(trainer);
        }
        optimizer_step(trainer, step);
        evaluate_after(trainer, step);
    }
    session.recorder.begin({PhaseKind::train_end});
    if (trainer.run.plan.distributed) sum_over_ranks(session, trainer.run.plan.distributed->world_size);  // store_flos
    session.recorder.mark("allocated_end");
}

}  // namespace vramfit::model
