// A loop of its own: forward, backward, clip, step, as scripts without a trainer have it.
#include <fmt/format.h>

#include "engine/autocast.hpp"
#include "engine/backward.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "model/causal_lm/causal_lm.hpp"
#include "model/loops/batch.hpp"
#include "model/loops/loops.hpp"
#include "model/losses/loss.hpp"
#include "model/step/clip.hpp"
#include "model/step/optimizer.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// The local variables that live from one step to the next.
struct Locals {
    Optimizer optimizer;
    Batch inputs;
    Output outputs;
    Tensor loss;
};

Tensor loss_of(const Run& run, const Output& outputs) {
    if (run.plan.loop.loss == LoopLoss::logits_mean) return mean_all(outputs.logits);
    if (!outputs.loss.defined())
        throw Error(ErrorKind::invalid, "batch.labels", "without labels the model has no loss",
                    "set loop.loss to logits_mean, or give labels");
    const auto micros = run.plan.training.gradient_accumulation_steps;
    return micros > 1 ? div(outputs.loss, 1) : outputs.loss;
}

Output forward_once(const Run& run, const Network& network, const Batch& inputs, const Place& place) {
    const AutocastScope autocast(run.session, run.plan.training.bf16, DType::bfloat16);
    return causal_lm(run, network, inputs, {}, place);
}

/// One micro-batch: forward and backward.
void micro_step(const Run& run, const Network& network, Locals& locals, const Place& place, bool last) {
    Session& session = run.session;
    const LoopPlan& loop = run.plan.loop;
    session.recorder.begin({PhaseKind::inputs, place.step, place.micro});
    if (place.micro <= 0 && loop.zero_grad == ZeroGrad::before_forward) zero_grad(locals.optimizer);
    if (loop.batch != BatchMove::once) locals.inputs = fetch_batch(run);
    {
        const GradMode grad(session, loop.grad);
        locals.outputs = forward_once(run, network, locals.inputs, place);
        if (loop.grad || loop.loss == LoopLoss::logits_mean || locals.outputs.loss.defined())
            locals.loss = loss_of(run, locals.outputs);
    }
    if (last) session.recorder.mark(fmt::format("step{}.after_forward", place.step + 1));
    if (loop.grad) {
        session.recorder.begin({PhaseKind::backward_loss, place.step, place.micro});
        session.end_loss();
        refuse_without_gradient(locals.loss);
        backward(locals.loss);
    }
    session.end_loss();
}

void update(const Run& run, Locals& locals, std::int32_t step) {
    Session& session = run.session;
    Optimizer& optimizer = locals.optimizer;
    if (optimizer.type->step && run.plan.training.max_grad_norm != 0.0) {
        session.recorder.begin({PhaseKind::clip, step});
        clip_grad_norm(session, optimizer.groups[0].parameters);
    }
    if (optimizer.type->step) {
        session.recorder.begin({PhaseKind::optimizer, step});
        const GradMode no_grad(session, false);
        optimizer.type->step(session, optimizer);
    }
    session.recorder.begin({PhaseKind::zero_grad, step});
    if (run.plan.loop.output == OutputLife::until_step_end) {
        locals.outputs = {};
        locals.loss.reset();
    }
    if (run.plan.loop.zero_grad == ZeroGrad::after_step) zero_grad(optimizer);
    session.recorder.mark(fmt::format("step{}.after_optimizer", step + 1));
}

void warm_up(const Run& run, const Network& network, Locals& locals) {
    for (const WarmForward& forward : run.plan.loop.before) {
        const GradMode grad(run.session, forward.grad);
        locals.inputs = fetch_batch(run, forward.sequence_length);
        locals.outputs = forward_once(run, network, locals.inputs, {-1, -1});
        locals.loss = loss_of(run, locals.outputs);
    }
}

}  // namespace

void run_plain(const Run& run, Network& network) {
    Session& session = run.session;
    const auto micros = static_cast<std::int32_t>(run.plan.training.gradient_accumulation_steps);
    ParameterGroup all{trainable_parameters(network), true};
    Locals locals;
    locals.optimizer = make_optimizer(session, run.plan.training, {all});
    session.recorder.mark("resident");
    warm_up(run, network, locals);
    if (run.plan.loop.batch == BatchMove::once) {
        session.recorder.begin({PhaseKind::batch});
        locals.inputs = fetch_batch(run);
    }
    for (std::int32_t step = 0; step < run.plan.loop.steps; ++step) {
        for (std::int32_t micro = 0; micro < micros; ++micro)
            micro_step(run, network, locals, {step, micros > 1 ? micro : -1}, micro + 1 == micros);
        session.recorder.mark(fmt::format("step{}.after_backward", step + 1));
        update(run, locals, step);
    }
    session.recorder.begin({PhaseKind::train_end});
    session.recorder.mark("allocated_end");
    locals.inputs = {};
    session.recorder.stop();
}

}  // namespace vramfit::model
