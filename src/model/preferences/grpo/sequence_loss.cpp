// trl 1.16 trainer/rloo_trainer.py RLOOTrainer._compute_loss.
#include "model/preferences/grpo/sequence_loss.hpp"

#include "engine/ops/clamp.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/sum.hpp"
#include "engine/ops/unary.hpp"
#include "model/preferences/grpo/group_metrics.hpp"
#include "model/preferences/grpo/rewards.hpp"
#include "model/preferences/grpo/scores.hpp"
#include "model/preferences/metrics.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// Completions whose ratio was clipped, and their shares.
void log_clipped(const Run& run, const Tensor& ratio, const Tensor& advantages) {
    const auto both = [&](Op op) {
        const Tensor of_ratio = compare(op, ratio);
        const Tensor of_advantage = compare(op, advantages);
        return compare(Op::bitwise_and, of_ratio, of_advantage);
    };
    const auto all_of = [&run](const Tensor& clipped) {
        const Tensor numbers = to(clipped, DType::float32);
        return gathered(run, numbers);
    };
    const Tensor is_low = both(Op::lt);
    const Tensor is_high = both(Op::gt);
    const Tensor is_region = compare(Op::bitwise_or, is_low, is_high);
    const Tensor low = all_of(is_low);
    read_item(nanmean_over(low, 1, false));
    read_extreme(low, Op::min);
    const Tensor high = all_of(is_high);
    read_item(nanmean_over(high, 1, false));
    read_extreme(high, Op::max);
    const Tensor region = all_of(is_region);
    read_item(nanmean_over(region, 1, false));
}

}  // namespace

Tensor rloo_loss(const Run& run, const Network& network, const Rollout& inputs, const Place& place,
                 const ForwardWrapper& wrapper) {
    const Tensor& mask = inputs.completion_mask;
    const ScoredRows rows = whole_rows(inputs.prompt_ids, inputs.completion_ids, inputs.prompt_mask, mask);
    const CompletionScores scores = completion_scores(run, network, rows, kPolicyParts, place, wrapper);
    const Tensor log_probs = [&] {
        const Tensor masked = mul(scores.log_probs, mask);
        return sum_over(masked, -1, false);
    }();
    const Tensor log_ratio = sub(log_probs, inputs.old_log_probs);
    const Tensor& advantages = inputs.advantages;
    const Tensor ratio = exp(log_ratio);
    const Tensor clipped = clamp_both(ratio);
    const Tensor first = mul(ratio, advantages);
    const Tensor second = mul(clipped, advantages);
    const Tensor per_sequence_loss = [&] {
        const Tensor smaller = minimum(first, second);
        return neg(smaller);
    }();
    const Tensor loss = mean_all(per_sequence_loss);
    const GradMode no_grad(run.session, false);
    const Tensor entropy_stats = read_mean_of_list(run, scores.entropies, mask);
    log_clipped(run, detach(ratio), advantages);
    return loss;
}

}  // namespace vramfit::model
