// The loop of tools/trace (worker/pipeline.py): cut the network by hand, move the stage, step, clip, update.
#include "model/parallel/pipeline/pipeline.hpp"

#include <fmt/format.h>

#include "engine/ops/copy.hpp"
#include "engine/session.hpp"
#include "model/parallel/pipeline/schedule.hpp"
#include "model/step/clip.hpp"
#include "model/step/optimizer.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

struct Loop {
    std::vector<PipelineStage> stages;
    Optimizer optimizer;
    Batch batch;
    Tensor output;
    std::vector<Tensor> losses;
};

/// Token ids for the first stage, labels for the last one, the mask for all; copies from pageable memory are waited
/// for.
void move_batch(const Run& run, Loop& loop) {
    const std::int64_t micros = run.plan.distributed->as<PipelinePlan>()->micro_batches;
    const Tensor host = host_tensor(run.session, {run.sizes.batch * micros, run.sizes.length}, DType::int64);
    const auto move = [&](Tensor& to, bool wanted) {
        if (!wanted) return;
        to = to_device(host);
        run.session.streams.host_waits(run.session.recorder.stream);
    };
    move(loop.batch.input_ids, loop.stages.front().is_first());
    move(loop.batch.labels, loop.stages.back().is_last());
    move(loop.batch.attention_mask, run.plan.batch.attention_mask != AttentionMask::absent);
}

void step_once(const Run& run, Loop& loop, std::int32_t step) {
    Session& session = run.session;
    session.recorder.begin({PhaseKind::inputs, step});
    move_batch(run, loop);
    loop.losses.clear();
    loop.output = run_schedule({run, loop.stages, loop.batch, step, loop.losses});
    session.end_loss();
    session.recorder.mark(fmt::format("step{}.after_backward", step + 1));
    const std::vector<NamedParameter>& trained = loop.optimizer.groups[0].parameters;
    if (loop.optimizer.type->step && run.plan.training.max_grad_norm != 0.0) {
        session.recorder.begin({PhaseKind::clip, step});
        clip_grad_norm(session, trained);
    }
    if (loop.optimizer.type->step) {
        session.recorder.begin({PhaseKind::optimizer, step});
        const GradMode no_grad(session, false);
        loop.optimizer.type->step(session, loop.optimizer);
    }
    session.recorder.begin({PhaseKind::zero_grad, step});
    if (run.plan.loop.output == OutputLife::until_step_end) {
        loop.output.reset();
        loop.losses.clear();
    }
    zero_grad(loop.optimizer);
    session.recorder.mark(fmt::format("step{}.after_optimizer", step + 1));
}

}  // namespace

bool is_pipeline(const TrainPlan& plan) { return plan.distributed && plan.distributed->as<PipelinePlan>(); }

void run_pipeline(const Run& run, Network& network) {
    Session& session = run.session;
    const DistributedPlan& processes = *run.plan.distributed;
    session.recorder.begin({PhaseKind::trainer});
    Loop loop;
    const std::int64_t local = processes.as<PipelinePlan>()->virtual_stages;
    const std::int64_t count = local * processes.world_size;
    loop.stages.reserve(static_cast<std::size_t>(local));  // parameters are known by where they are
    for (std::int64_t place = 0; place < local; ++place)
        loop.stages.emplace_back(run, network, processes.rank + place * processes.world_size, count);
    network = {};
    ParameterGroup all{{}, true};
    for (PipelineStage& stage : loop.stages)
        for (const NamedParameter& p : trainable_parameters(stage.network())) all.parameters.push_back(p);
    loop.optimizer = make_optimizer(session, run.plan.training, {all});
    session.recorder.mark("resident");
    for (std::int32_t step = 0; step < run.plan.loop.steps; ++step) step_once(run, loop, step);
    session.recorder.begin({PhaseKind::train_end});
    session.recorder.mark("allocated_end");
    loop.batch = {};
    session.recorder.stop();
}

}  // namespace vramfit::model
