// transformers 5.17 trainer.py: _inner_training_loop, _run_epoch, training_step, compute_loss.
#include <fmt/format.h>

#include "engine/backward.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/view.hpp"
#include "model/causal_lm.hpp"
#include "model/clip.hpp"
#include "model/loops.hpp"
#include "model/optimizer.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

Batch fetch(const Run& run) {
    const Dims shape{run.plan.training.per_device_train_batch_size, run.plan.batch.sequence_length};
    const Tensor host = host_tensor(run.session, shape, DType::int64);
    Batch batch;
    batch.input_ids = to_device(host);
    batch.labels = to_device(host);
    if (run.plan.batch.attention_mask != AttentionMask::absent) batch.attention_mask = to_device(host);
    return batch;
}

/// _get_num_items_in_batch: labels that count.
Tensor count_items(const std::vector<Batch>& batches) {
    Tensor total;
    for (const Batch& batch : batches) {
        const Tensor shifted = slice(batch.labels, -1, 1, batch.labels.size(-1));
        const Tensor valid = compare(Op::ne, shifted);
        const Tensor count = sum_all(valid);
        total = total.defined() ? add(total, count) : add(count, 0);
    }
    return total;
}

std::vector<ParameterGroup> parameter_groups(Network& network) {
    ParameterGroup decay{{}, true}, no_decay{{}, false};
    for (const NamedParameter& p : trainable_parameters(network))
        (p.norm_or_bias ? no_decay : decay).parameters.push_back(p);
    return {decay, no_decay};
}

void zero_grad(Network& network) {
    for (const NamedParameter& p : named_parameters(network)) (*p.tensor)->grad.reset();
}

}  // namespace

void run_trainer(const Run& run, Network& network) {
    Session& session = run.session;
    const auto micros = run.plan.training.gradient_accumulation_steps;
    session.recorder.begin({PhaseKind::trainer});
    Optimizer optimizer = make_optimizer(session, run.plan.training.optim, parameter_groups(network));
    session.recorder.mark("resident");
    Tensor total_loss = empty(session, {}, DType::float32, Op::to_copy);
    std::vector<Batch> batches;
    Tensor items, grad_norm, step_loss;
    for (std::int32_t step = 0; step < run.plan.loop.steps; ++step) {
        const std::int32_t first = micros > 1 ? 0 : -1;
        session.recorder.begin({PhaseKind::inputs, step, first});
        {
            std::vector<Batch> next;
            for (int i = 0; i < micros; ++i) next.push_back(fetch(run));
            Tensor count = count_items(next);
            batches = std::move(next);
            items = std::move(count);
        }
        for (std::int32_t micro = 0; micro < micros; ++micro) {
            const Place place{step, micros > 1 ? micro : -1};
            if (micro > 0) session.recorder.begin({PhaseKind::inputs, step, micro});
            Tensor loss = causal_lm(run, network, batches[static_cast<std::size_t>(micro)], items, place).loss;
            session.recorder.mark(fmt::format("step{}.after_forward", step + 1));
            session.recorder.begin({PhaseKind::backward_loss, step, place.micro});
            {
                const Tensor scaled = div(loss, 1);
                backward(scaled);
            }
            session.recorder.fresh = Category::temporaries;
            step_loss = detach(loss);
            loss.reset();
            {
                const Tensor nan = compare(Op::ne, step_loss);
            }
            add_(total_loss, step_loss);
        }
        session.recorder.begin({PhaseKind::clip, step});
        grad_norm = clip_grad_norm(session, trainable_parameters(network));
        session.recorder.begin({PhaseKind::optimizer, step});
        optimizer.type->step(session, optimizer);
        session.recorder.begin({PhaseKind::zero_grad, step});
        zero_grad(network);
        session.recorder.mark(fmt::format("step{}.after_optimizer", step + 1));
    }
    session.recorder.begin({PhaseKind::train_end});
    session.recorder.mark("allocated_end");
}

}  // namespace vramfit::model
