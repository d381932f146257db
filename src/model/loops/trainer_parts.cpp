// accelerate 0.29 to 1.15 accelerator.py and optimizer.py as Trainer calls them.
#include "model/loops/trainer_parts.hpp"

#include <fmt/format.h>

#include "engine/backward.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/pointwise.hpp"
#include "model/causal_lm/mixed_precision.hpp"
#include "model/loading/load.hpp"
#include "model/losses/loss.hpp"
#include "model/parallel/tensor/tensor_parallel.hpp"
#include "model/preferences/precompute.hpp"
#include "model/step/clip.hpp"
#include "model/step/dtensor_gradients.hpp"

namespace vramfit::model {

using namespace engine;

void empty_cache_by_steps(const Trainer& trainer, const Place& place) {
    auto every = trainer.args().torch_empty_cache_steps;
    if (!every && trainer.run.unsloth) every = 250;  // unsloth 2026.10.7, models/rl.py: its SFTConfig's default
    if (every && place.step % *every == 0) trainer.session().recorder.empty_cache();
}

Output wrapped_forward(const Trainer& trainer, const Batch& batch, const Tensor& items, const Place& place) {
    const bool last = trainer.is_last(place);
    if (trainer.fsdp1) return trainer.fsdp1->forward(batch, items, place, last);
    if (trainer.fsdp2) return trainer.fsdp2->forward(batch, items, place, last);
    if (trainer.ddp) trainer.ddp->before_forward(last);
    Output outputs = prepared_forward(trainer.run, trainer.network, batch, items, place);
    if (!trainer.ddp) return outputs;
    std::vector<Tensor*> tensors = {&outputs.loss};
    for (Tensor* t : {&outputs.aux_loss, &outputs.logits})
        if (t->defined()) tensors.push_back(t);
    if (outputs.past_key_values && trainer.run.stack.pytrees_know_the_cache())
        for (KvCache::Layer& layer : outputs.past_key_values->layers())
            tensors.insert(tensors.end(), {&layer.keys, &layer.values});
    for (std::vector<Tensor>* some : {&outputs.router_logits, &outputs.others})
        for (Tensor& t : *some) tensors.push_back(&t);
    trainer.ddp->after_forward(tensors);
    return outputs;
}

void accelerator_backward(Trainer& trainer, const Tensor& whole, const Place& place) {
    Recorder& recorder = trainer.session().recorder;
    if (trainer.is_last(place)) recorder.mark(fmt::format("step{}.after_forward", place.step + 1));
    recorder.begin({PhaseKind::backward_loss, place.step, place.micro});
    trainer.session().end_loss();
    if (trainer.zero) {
        trainer.zero->backward(whole, trainer.is_last(place));
        if (trainer.is_last(place)) zero_step(trainer, place);
        return;
    }
    const Tensor loss = div(whole, 1);
    refuse_without_gradient(loss);
    if (trainer.args().fp16)
        backward(trainer.scaler.scale(loss));
    else
        backward(loss);
}

void zero_step(Trainer& trainer, const Place& place) {
    Recorder& recorder = trainer.session().recorder;
    recorder.mark(fmt::format("step{}.after_backward", place.step + 1));
    recorder.begin({PhaseKind::optimizer, place.step});
    trainer.zero->step();
}

void after_zero_step(Trainer& trainer, std::int32_t step) {
    Recorder& recorder = trainer.session().recorder;
    recorder.begin({PhaseKind::zero_grad, step});
    for (const NamedParameter& p : named_parameters(trainer.network)) (*p.tensor)->grad.reset();
    recorder.mark(fmt::format("step{}.after_optimizer", step + 1));
}

void look_at_loss(const Tensor& loss) {
    Streams& streams = loss.session().streams;
    {
        const Tensor is_nan = compare(Op::ne, loss);
        streams.host_waits(0);
    }
    {
        const Tensor magnitude = pointwise_result(loss, loss.dtype(), Op::abs);
        const Tensor is_inf = compare(Op::eq, magnitude);
        streams.host_waits(0);
    }
}

namespace {

bool steps_on_host(const Trainer& trainer) {
    return trainer.run.plan.distributed && trainer.run.plan.distributed->shards_on_host();
}

}  // namespace

Tensor clip_gradients(Trainer& trainer) {
    if (trainer.unscales) trainer.scaler.unscale(trainer.session(), trainer.optimizer);
    if (trainer.optimizer.one_by_one) return clip_cut_gradients(trainer.run, trainer.network);
    if (trainer.fsdp1) return trainer.fsdp1->clip_gradients();
    const Scoped<bool> on_host(trainer.session().on_host, steps_on_host(trainer));
    return clip_grad_norm(trainer.session(), trainable_parameters(trainer.network), trainer.fsdp2 != nullptr);
}

void optimizer_step(Trainer& trainer, std::int32_t step) {
    Session& session = trainer.session();
    Optimizer& optimizer = trainer.optimizer;
    session.recorder.begin({PhaseKind::optimizer, step});
    const GradMode no_grad(session, false);
    if (optimizer.type->step) {
        const Scoped<bool> on_host(session.on_host, steps_on_host(trainer));
        if (trainer.unscales)
            trainer.scaler.step(session, optimizer);
        else
            optimizer.type->step(session, optimizer);
    }
    session.recorder.begin({PhaseKind::zero_grad, step});
    for (const NamedParameter& p : named_parameters(trainer.network)) (*p.tensor)->grad.reset();
    if (trainer.fsdp1 && !trainer.fsdp1->keeps_parameters()) zero_grad(optimizer);
    session.recorder.mark(fmt::format("step{}.after_optimizer", step + 1));
}

// accelerate 0.29 to 1.15 optimizer.py AcceleratedOptimizer.__init__: states that exist go to the device.
void place_states(Session& session, Optimizer& optimizer) {
    const Scoped<Category> fresh(session.recorder.fresh, Category::optimizer_states);
    for (auto& group : optimizer.states)
        for (OptimizerState& state : group)
            for (Tensor& t : state)
                if (t->storage->bytes == 0) {
                    t = to_device(t);
                    session.streams.host_waits(0);
                }
}

void begin_training(const Run& run, Network& network, const Reference& reference) {
    if (!network.tied || is_partitioned(run.plan)) network.uncollected.clear();
    if (reference.pieces) reference.network->uncollected.clear();
    run.session.recorder.empty_cache();
    if (run.plan.preference.precompute_ref_log_probs && precomputes_in_training(run.plan))
        precompute_references(run, network);
}

}  // namespace vramfit::model
