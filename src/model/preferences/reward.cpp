// trl 1.16 trainer/reward_trainer.py RewardTrainer.compute_loss; transformers 5.17 modeling_layers.py
// GenericForSequenceClassification.forward.
#include "model/preferences/reward.hpp"

#include <optional>

#include <fmt/format.h>

#include "engine/autocast.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/in_place.hpp"
#include "engine/ops/index.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/shape.hpp"
#include "engine/ops/split.hpp"
#include "engine/ops/unary.hpp"
#include "model/causal_lm/classification.hpp"
#include "model/causal_lm/mixed_precision.hpp"
#include "model/layers/inputs.hpp"
#include "model/network/modules.hpp"
#include "model/parallel/zero_plan.hpp"
#include "model/preferences/metrics.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::model {

using namespace engine;

Tensor rewards_of(const Run& run, const Network& network, const Batch& batch, const Place& place) {
    const auto dtype = zero_of(run.plan) ? std::nullopt : mixed_dtype(run.plan.training);  // it casts the parameters
    if (!dtype) return pooled_scores(run, network, batch, place).pooled;
    Tensor scores;
    {
        const AutocastScope autocast(run.session, true, *dtype);
        scores = pooled_scores(run, network, batch, place).pooled;
    }
    return to(scores, DType::float32);
}

namespace {

void read_metrics(const Run& run, const Batch& batch, const Tensor& rewards, const Tensor& chosen,
                  const Tensor& rejected) {
    if (run.session.training) read_sum(gathered(run, sum_all(batch.attention_mask)));
    const GradMode no_grad(run.session, false);
    const Tensor all_rewards = gathered(run, rewards);
    const DimMask all = 3;
    read_item(reduce(all_rewards, all, false, rewards.dtype(), Op::min));
    read_mean(all_rewards);
    read_item(reduce(all_rewards, all, false, rewards.dtype(), Op::max));
    const auto mean_accuracy = [&] {
        const Tensor is_higher = [&] {
            const Tensor higher = compare(Op::gt, chosen, rejected);
            return to(higher, DType::float32);
        }();
        return mean_all(is_higher);
    };
    const auto mean_margin = [&] { return mean_all(sub(chosen, rejected)); };
    read_mean(gathered(run, mean_accuracy()));
    read_mean(gathered(run, mean_margin()));
}

}  // namespace

Tensor reward_loss(const Run& run, const Network& network, const Batch& batch, const Place& place,
                   const ForwardWrapper& wrapper) {
    if (wrapper.before) wrapper.before();
    Tensor rewards = rewards_of(run, network, batch, place);
    begin_loss(run, place);
    Tensor* const outputs[] = {&rewards};
    if (wrapper.after) wrapper.after(rewards, outputs);
    const auto halves = chunk(squeeze(rewards, -1), 2, 0);
    const Tensor loss = [&] {
        const Tensor mean = [&] {
            const Tensor likelihood = log_sigmoid(sub(halves[0], halves[1]));
            return mean_all(likelihood);
        }();
        return neg(mean);
    }();
    if (run.plan.preference.centers_rewards) {
        const Tensor mean = [&] {
            const Tensor squares = [&] { return square(add(halves[0], halves[1])); }();
            return mean_all(squares);
        }();
        add_in_place(loss, mul(mean, 1.0));
    }
    read_metrics(run, batch, rewards, halves[0], halves[1]);
    return loss;
}

}  // namespace vramfit::model
