// ScheduleGPipe, Schedule1F1B and ScheduleInterleaved1F1B. Local variables have the names and the lives of Python's:
// they hold memory.
#include "model/parallel/pipeline/schedule.hpp"

#include <algorithm>
#include <map>

#include "engine/backward.hpp"
#include "engine/ops/view.hpp"
#include "engine/session.hpp"
#include "model/losses/loss.hpp"
#include "model/parallel/pipeline/interleaved.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// What the schedules share.
class Steps {
  public:
    explicit Steps(const PipelineStep& step)
        : step_(step), session_(step.run.session), plan_(*step.run.plan.distributed->as<PipelinePlan>()) {}

    std::int64_t micro_batches() const { return plan_.micro_batches; }
    PeerWork send(const PeerOps& ops) { return send_and_receive(session_, ops); }
    void wait(const PeerWork& work) { wait_for(session_, work); }
    void exchange_now(const PeerOps& ops) { wait(send(ops)); }

    Tensor forward(PipelineStage& stage, std::int64_t micro) {
        return stage.forward(chunk(micro), place(micro), plan_.return_outputs);
    }
    /// _maybe_compute_loss.
    void compute_loss(const PipelineStage& stage, const Tensor& output, std::int64_t micro) {
        if (stage.is_last()) losses_.push_back(causal_lm_loss(step_.run, output, chunk(micro).labels, {}));
    }
    void backward(PipelineStage& stage, std::int64_t micro) {
        stage.backward(stage.is_last() ? losses_[static_cast<std::size_t>(micro)] : Tensor(), place(micro));
    }
    /// _update_losses.
    void hand_over_losses() { step_.losses.swap(losses_); }

  private:
    Place place(std::int64_t micro) const { return {step_.number, static_cast<std::int32_t>(micro)}; }
    /// microbatch.py split_args_kwargs_into_chunks: views of the batch.
    Batch chunk(std::int64_t micro) const {
        const auto part = [&](const Tensor& t) {
            const Size& rows = step_.run.sizes.batch;
            return t.defined() ? slice(t, 0, rows * micro, rows * (micro + 1)) : Tensor();
        };
        return {part(step_.batch.input_ids), part(step_.batch.attention_mask), part(step_.batch.labels), {}};
    }

    const PipelineStep& step_;
    Session& session_;
    const PipelinePlan& plan_;
    std::vector<Tensor> losses_;
};

/// ScheduleGPipe._step_microbatches.
void run_gpipe(Steps& steps, PipelineStage& stage) {
    std::vector<PeerWork> fwd_sends, bwd_sends;
    Tensor output;
    PeerOps ops;
    for (std::int64_t i = 0; i < steps.micro_batches(); ++i) {
        ops = stage.received_activations(i);
        steps.exchange_now(ops);
        output = steps.forward(stage, i);
        ops = stage.sent_activations(i);
        fwd_sends.push_back(steps.send(ops));
        steps.compute_loss(stage, output, i);
    }
    for (const PeerWork& work : fwd_sends) steps.wait(work);
    for (std::int64_t i = 0; i < steps.micro_batches(); ++i) {
        ops = stage.received_gradients(i);
        steps.exchange_now(ops);
        steps.backward(stage, i);
        ops = stage.sent_gradients(i);
        bwd_sends.push_back(steps.send(ops));
    }
    for (const PeerWork& work : bwd_sends) steps.wait(work);
    steps.hand_over_losses();
}

/// Schedule1F1B._step_microbatches.
void run_1f1b(Steps& steps, PipelineStage& stage, std::int64_t stages) {
    const std::int64_t warm_up = std::min(steps.micro_batches(), stages - stage.index());
    std::int64_t fwd = 0, bwd = 0;
    PeerWork send_work;
    PeerOps fwd_sends, bwd_sends;
    Tensor output;
    const auto joined = [](PeerOps first, const PeerOps& second) {
        first.insert(first.end(), second.begin(), second.end());
        return first;
    };
    for (; fwd < warm_up; ++fwd) {
        steps.exchange_now(stage.received_activations(fwd));
        output = steps.forward(stage, fwd);
        steps.wait(send_work);
        fwd_sends = stage.sent_activations(fwd);
        if (fwd != warm_up - 1) send_work = steps.send(fwd_sends);
        steps.compute_loss(stage, output, fwd);
    }
    while (true) {
        steps.exchange_now(joined(fwd_sends, stage.received_gradients(bwd)));
        steps.backward(stage, bwd);
        bwd_sends = stage.sent_gradients(bwd++);
        if (fwd == steps.micro_batches()) break;
        steps.exchange_now(joined(bwd_sends, stage.received_activations(fwd)));
        output = steps.forward(stage, fwd);
        steps.compute_loss(stage, output, fwd);
        fwd_sends = stage.sent_activations(fwd++);
    }
    send_work = steps.send(bwd_sends);
    for (; bwd < steps.micro_batches(); ++bwd) {
        steps.exchange_now(stage.received_gradients(bwd));
        steps.backward(stage, bwd);
        steps.wait(send_work);
        bwd_sends = stage.sent_gradients(bwd);
        send_work = steps.send(bwd_sends);
    }
    steps.wait(send_work);
    steps.hand_over_losses();
}

/// _PipelineScheduleRuntime._step_microbatches: what is sent is waited for at the end of the step.
void run_interleaved(Steps& steps, std::vector<PipelineStage>& stages, const std::vector<PipelineAction>& order,
                     std::int64_t processes) {
    std::map<PipelineAction, PeerWork> received;
    std::vector<PeerWork> sent;
    for (const PipelineAction& action : order) {
        PipelineStage& stage = stages[static_cast<std::size_t>(action.stage / processes)];
        const auto wait_for_peer = [&](PipelineAction::Kind kind) {
            const auto work = received.find({kind, action.stage, action.micro});
            if (work != received.end()) steps.wait(work->second);
        };
        switch (action.kind) {
            case PipelineAction::Kind::send_forward:
                sent.push_back(steps.send(stage.sent_activations(action.micro)));
                break;
            case PipelineAction::Kind::send_backward:
                sent.push_back(steps.send(stage.sent_gradients(action.micro)));
                break;
            case PipelineAction::Kind::receive_forward:
                received[action] = steps.send(stage.received_activations(action.micro));
                break;
            case PipelineAction::Kind::receive_backward:
                received[action] = steps.send(stage.received_gradients(action.micro));
                break;
            case PipelineAction::Kind::forward:
                wait_for_peer(PipelineAction::Kind::receive_forward);
                steps.compute_loss(stage, steps.forward(stage, action.micro), action.micro);
                break;
            case PipelineAction::Kind::backward:
                wait_for_peer(PipelineAction::Kind::receive_backward);
                steps.backward(stage, action.micro);
                break;
            case PipelineAction::Kind::nothing: break;
        }
    }
    for (auto work = sent.rbegin(); work != sent.rend(); ++work) steps.wait(*work);
    steps.hand_over_losses();
}

/// _initialize_stage, in the first step.
void initialize(const PipelineStep& step, std::int64_t micro_batches) {
    PeerOps all;
    for (PipelineStage& stage : step.stages)
        for (const Tensor& t : stage.greet_neighbours()) all.push_back(t);
    Session& session = step.run.session;
    wait_for(session, send_and_receive(session, all));
    for (PipelineStage& stage : step.stages) stage.make_activation_buffers(micro_batches);
    for (PipelineStage& stage : step.stages) stage.make_gradient_buffers(micro_batches);
}

}  // namespace

Tensor run_schedule(const PipelineStep& step) {
    const DistributedPlan& processes = *step.run.plan.distributed;
    const PipelinePlan& plan = *processes.as<PipelinePlan>();
    for (PipelineStage& stage : step.stages) stage.clear();
    if (step.number == 0) initialize(step, plan.micro_batches);
    Steps steps(step);
    PipelineStage& last = step.stages.back();
    const std::int64_t world = processes.world_size;
    switch (plan.schedule) {
        case PipelineSchedule::gpipe: run_gpipe(steps, last); break;
        case PipelineSchedule::one_f_one_b: run_1f1b(steps, last, world); break;
        case PipelineSchedule::interleaved:
            run_interleaved(steps, step.stages,
                            interleaved_order({world, plan.virtual_stages, plan.micro_batches}, processes.rank), world);
            break;
    }
    return last.is_last() && plan.return_outputs ? cat(last.output_chunks(), 0) : Tensor();
}

}  // namespace vramfit::model
