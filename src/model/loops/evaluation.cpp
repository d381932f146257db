// transformers 5.17 trainer.py: evaluate, evaluation_loop, prediction_step; trl 1.16 sft_trainer.py and dpo_trainer.py
// prediction_step. trl 1.9 experimental/prm/prm_trainer.py PRMTrainer sets compute_metrics, for which logits are kept.
#include "model/loops/evaluation.hpp"

#include "engine/ops/copy.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/view.hpp"
#include "model/causal_lm/mixed_precision.hpp"
#include "model/loops/batch.hpp"
#include "model/loops/sft_loss.hpp"
#include "model/parallel/collectives.hpp"
#include "model/preferences/loss.hpp"
#include "model/preferences/process_reward/rows.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// What prediction_step gives. Logits and labels are asked for where the trainer computes metrics.
struct Predicted {
    Tensor loss;
    Tensor logits = {};
    Tensor labels = {};
};

/// prediction_step. The model is the one that autocast was put into, without torch's DistributedDataParallel around it.
Predicted predict_batch(Trainer& trainer, const Run& run, const Batch& batch, const Place& place) {
    const GradMode no_grad(run.session, false);
    Network& network = trainer.network;
    const bool by_metrics = rewards_steps(run.plan);
    if (is_preference(run.plan.loop.kind) && !by_metrics)
        return {preference_loss(run, network, trainer.reference, batch, place, {})};
    if (run.plan.loop.kind == LoopKind::sft && run.stack.sft_scores_in_chunks())
        return {sft_loss(run, network, batch, {}, place, {})};
    const Tensor items = run.stack.evaluation_counts_items() ? count_items(run, {batch}) : Tensor();
    const Output outputs = prepared_forward(run, network, batch, items, place);
    if (run.stack.trainer_averages_over_devices() && items.defined()) mul_(outputs.loss, 1);
    if (by_metrics) begin_loss(run, place);  // as in training
    const Tensor loss = mean_all(outputs.loss);
    if (!by_metrics) return {loss};
    return {loss, outputs.logits, batch.labels};
}

/// accelerate utils/operations.py pad_across_processes: the sizes of the tensor go to the GPU, whether others are
/// waiting for them or not.
void pad_across_processes(const Run& run, const Tensor& batch) {
    if (batch.defined()) empty(run.session, {batch.dim()}, DType::int64, Op::to_copy);
}

/// trainer_pt_utils.py EvalLoopContainer: batches of equal length, put together on the GPU.
void add_batch(Tensor& all, const Tensor& batch) {
    if (!batch.defined()) return;
    if (!all.defined()) {
        all = batch;
        return;
    }
    const Tensor parts[2] = {all, batch};
    all = cat(parts, 0);
}

/// gather_function(losses.repeat(batch_size)): accelerate utils/operations.py _gpu_gather_one.
Tensor repeated_loss(const Run& run, const Tensor& loss) {
    const Size rows = run.plan.evaluation->per_device_eval_batch_size;
    const Tensor own = empty(run.session, {rows}, loss.dtype(), Op::empty);
    if (!run.plan.distributed) return own;
    Tensor all = empty(run.session, {rows * run.plan.distributed->world_size}, loss.dtype(), Op::empty);
    run_collective(run.session);
    return all;
}

/// evaluation_loop. enumerate holds a batch until the next one is there, whether the loop does or not.
void evaluate(Trainer& trainer, std::int32_t step) {
    const EvaluationPlan& plan = *trainer.run.plan.evaluation;
    Session& session = trainer.session();
    TrainPlan with_rows = trainer.run.plan;
    with_rows.training.per_device_train_batch_size = plan.per_device_eval_batch_size;
    if (plan.attention_mask) with_rows.batch.attention_mask = *plan.attention_mask;
    if (with_rows.loop.kind == LoopKind::sft && plan.per_device_eval_batch_size == 1)
        with_rows.batch.attention_mask = AttentionMask::ones;  // trl's collator cuts a padded row that stands alone
    const Run run = trainer.run.with(with_rows, trainer.run.sizes_of_evaluation());
    const Scoped<bool> evaluates(session.training, false);
    const Scoped<Checkpointing> whole_layers(trainer.network.checkpointing, Checkpointing::off);
    Batch inputs;
    Predicted predicted, all;  // of the last batch, and of those that are not on the host yet
    for (std::int32_t number = 0; number < plan.batches; ++number) {
        const Place place{step, -1, number};
        session.recorder.begin({PhaseKind::inputs, step, -1, -1, number});
        inputs = next_batch(run);
        predicted = predict_batch(trainer, run, inputs, place);
        session.end_loss();
        predicted.loss = repeated_loss(run, predicted.loss);
        add_batch(all.loss, predicted.loss);
        pad_across_processes(run, predicted.labels);
        pad_across_processes(run, predicted.logits);
        add_batch(all.logits, predicted.logits);
        add_batch(all.labels, predicted.labels);
        if (!plan.accumulation || (number + 1) % *plan.accumulation != 0) continue;
        session.streams.host_waits(0);  // to_cpu_and_numpy
        all = predicted = {};
        session.recorder.empty_cache();
    }
    session.streams.host_waits(0);
}

}  // namespace

void evaluate_on_start(Trainer& trainer) {
    const auto& plan = trainer.run.plan.evaluation;
    if (plan && plan->on_start) evaluate(trainer, -1);
}

// trainer_callback.py DefaultFlowCallback.on_step_end.
void evaluate_after(Trainer& trainer, std::int32_t step) {
    const auto& plan = trainer.run.plan.evaluation;
    if (!plan || plan->every == 0) return;
    const bool is_last = step + 1 == trainer.run.plan.loop.steps && trainer.run.stack.evaluates_at_the_end();
    if ((step + 1) % plan->every == 0 || is_last) evaluate(trainer, step);
}

}  // namespace vramfit::model
