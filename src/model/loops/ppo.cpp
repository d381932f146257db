// trl 1.9 experimental/ppo/ppo_trainer.py PPOTrainer.__init__, train. No gradient is clipped, and nothing asks the
// policy for gradient checkpointing but the script.
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "engine/backward.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/sum.hpp"
#include "model/loops/loops.hpp"
#include "model/loops/trainer_parts.hpp"
#include "model/losses/loss.hpp"
#include "model/preferences/metrics.hpp"
#include "model/preferences/ppo/loss.hpp"
#include "model/preferences/rows.hpp"
#include "model/step/optimizer.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// The parameters of PolicyAndValueWrapper: the policy's, then the value model's.
std::vector<ParameterGroup> groups_of_both(const Run& run, const PpoNetworks& networks) {
    std::vector<ParameterGroup> groups = decay_groups(run, networks.policy);
    const std::vector<ParameterGroup> of_value =
        decay_groups(networks.value.on(run, run.sizes), *networks.value.network);
    for (std::size_t i = 0; i < groups.size(); ++i)
        groups[i].parameters.insert(groups[i].parameters.end(), of_value[i].parameters.begin(),
                                    of_value[i].parameters.end());
    return groups;
}

/// Batches of all epochs of an update.
std::int64_t passes_of_update(const TrainPlan& plan) {
    return plan.preference.ppo.num_ppo_epochs * plan.training.gradient_accumulation_steps;
}

Place place_of(const TrainPlan& plan, std::int32_t step, std::int64_t pass) {
    return {step, passes_of_update(plan) > 1 ? static_cast<std::int32_t>(pass) : -1};
}

/// approxkl_stats and the like, one number for each batch.
std::vector<Tensor> make_statistics(const Run& run) {
    const PpoPlan& how = run.plan.preference.ppo;
    std::vector<Tensor> out;
    for (int i = 0; i < 7; ++i)
        out.push_back(zeros(run.session,
                            {how.num_ppo_epochs, how.num_mini_batches, run.plan.training.gradient_accumulation_steps},
                            DType::float32));
    return out;
}

/// accelerator.backward(loss).
void backward_batch(const Run& run, const Tensor& whole, const Place& place) {
    run.session.recorder.begin(phase_at(PhaseKind::backward_loss, place));
    run.session.end_loss();
    const Tensor loss = div(whole, 1);
    refuse_without_gradient(loss);
    backward(loss);
}

/// AcceleratedOptimizer.step and zero_grad, which do nothing before gradients are whole.
void update_both(const Run& run, Optimizer& optimizer, const Place& place, bool is_whole) {
    Session& session = run.session;
    session.recorder.begin({PhaseKind::optimizer, place.step});
    const GradMode no_grad(session, false);
    if (is_whole && optimizer.type->step) optimizer.type->step(session, optimizer);
    session.recorder.begin({PhaseKind::zero_grad, place.step});
    if (is_whole) zero_grad(optimizer);
    session.recorder.begin(phase_at(PhaseKind::metrics, place));
}

void train_epochs(const Run& run, const PpoNetworks& networks, Optimizer& optimizer, const PpoRollout& r,
                  std::int32_t step, PpoBatch& b) {
    const PpoPlan& how = run.plan.preference.ppo;
    const std::int64_t steps = run.plan.training.gradient_accumulation_steps;
    const std::int64_t batches = steps / how.num_mini_batches;
    for (std::int64_t pass = 0; pass < passes_of_update(run.plan); ++pass) {
        const Place place = place_of(run.plan, step, pass);
        train_batch(run, networks, r, place, b);
        backward_batch(run, b.loss, place);
        update_both(run, optimizer, place, (pass + 1) % steps == 0);
        measure_batch(run, r, b);
        if ((pass + 1) % batches != 0) continue;
        let_go(b);
        run.session.recorder.empty_cache();
    }
}

/// x.sum(1).mean().
Tensor mean_of_sums(const Tensor& t) {
    const Tensor sums = sum_over(t, 1, false);
    return mean_all(sums);
}

/// Means of an update; rlhf_reward is not deleted.
struct UpdateMeans {
    Tensor kl, entropy, non_score_reward, rlhf_reward;
};

void log_update(const Run& run, PpoRollout& r, const std::vector<Tensor>& statistics, UpdateMeans& means) {
    const GradMode no_grad(run.session, false);
    means.kl = mean_of_sums(r.kl);
    means.entropy = [&] {
        const Tensor surprise = neg(r.logprobs);
        return mean_of_sums(surprise);
    }();
    means.non_score_reward = mean_of_sums(r.non_score_reward);
    means.rlhf_reward = [&] {
        const Tensor mean = mean_all(r.scores);
        return add(means.non_score_reward, mean);
    }();
    for (const Tensor& mean : {means.kl, means.entropy, means.non_score_reward, means.rlhf_reward}) read_mean(mean);
    {
        const Tensor mean = mean_all(r.scores);
        read_mean(mean);
    }
    for (const Tensor& each : statistics) read_mean(each);
    read_item(reduce(statistics.back(), 7, false, DType::float32, Op::std));  // var() is the same kernel
    {
        const Tensor is_end = compare(Op::eq, r.responses);
        read_sum(is_end);
    }
}

/// The policy's config has the checkpoint's use_cache, which no Trainer has written; what generates divides by the
/// temperature and asks for nothing else. PPOTrainer makes an Accelerator of its own, which from transformers 5 on
/// knows nothing of bf16 and fp16: TrainingArguments do not write ACCELERATE_MIXED_PRECISION any more.
TrainPlan plan_of_ppo(const Run& run) {
    TrainPlan out = run.plan;
    out.training.use_cache = run.spec.use_cache;
    out.training.bf16 = out.training.fp16 = false;
    out.preference.grpo = {};
    out.preference.grpo.has_temperature = true;
    return out;
}

void train_by_ppo(const Run& run, const PpoNetworks& networks, Optimizer& optimizer) {
    Recorder& recorder = run.session.recorder;
    const std::vector<Tensor> statistics = make_statistics(run);
    PpoRollout rollout;
    PpoBatch batch;
    UpdateMeans means;
    const std::int32_t steps = static_cast<std::int32_t>(run.plan.loop.steps);
    recorder.begin(phase_at(PhaseKind::inputs, place_of(run.plan, 0, 0)));
    for (std::int32_t step = 0; step < steps; ++step) {
        roll_out(run, networks, place_of(run.plan, step, 0), rollout);
        compute_advantages(run, rollout);
        train_epochs(run, networks, optimizer, rollout, step, batch);
        log_update(run, rollout, statistics, means);
        recorder.begin(step + 1 < steps ? phase_at(PhaseKind::inputs, place_of(run.plan, step + 1, 0))
                                        : Phase{PhaseKind::train_end});
        for (Tensor* t : {&rollout.kl, &means.kl, &means.entropy, &means.non_score_reward, &rollout.scores,
                          &rollout.non_score_reward})
            t->reset();
        recorder.empty_cache();
        let_go(rollout);
        recorder.empty_cache();
    }
}

/// What the trainer makes of its networks: the reference, then the value model and the reward model on the card.
Reference place_networks(const Run& run, Network& policy) {
    Recorder& recorder = run.session.recorder;
    Reference reference;
    if (!run.plan.peft && !run.plan.preference.ppo.reference_is_given) reference = make_reference(run, policy);
    place_value_model(run);
    if (run.plan.preference.ppo.reference_is_given) reference = make_reference(run, policy);
    place_evaluated_networks(run);
    recorder.begin({PhaseKind::trainer});
    return reference;
}

}  // namespace

void run_ppo(const Run& asked, Network& network) {
    Session& session = asked.session;
    const TrainPlan plan = plan_of_ppo(asked);
    const Run run = asked.with(plan);
    session.recorder.begin({PhaseKind::trainer});
    load_evaluated_networks(run);
    EvaluatedNetwork& value = *run.evaluated_networks->value_model;
    *value.spec = spec_of_preferences(*value.spec, plan);  // disable_dropout_in_model
    const Reference reference = place_networks(run, network);
    const PpoNetworks networks{network, value, run.evaluated_networks->reward_models.front(), reference};
    Optimizer optimizer = make_optimizer(session, run.plan.training, groups_of_both(run, networks));
    optimizer.embeddings_in_32bit = optimizer.type->is_8bit && run.stack.trainer_keeps_embeddings_in_32bit();
    place_states(session, optimizer);
    session.recorder.mark("resident");
    train_by_ppo(run, networks, optimizer);
    session.recorder.mark("allocated_end");
    session.recorder.stop();
}

}  // namespace vramfit::model
