// trl 1.16 trainer/grpo_trainer.py GRPOTrainer._compute_loss.
#include "model/preferences/grpo/loss.hpp"

#include "engine/ops/clamp.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/sum.hpp"
#include "engine/ops/unary.hpp"
#include "engine/ops/view.hpp"
#include "model/preferences/grpo/group_metrics.hpp"
#include "model/preferences/grpo/scores.hpp"
#include "model/preferences/metrics.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// t.clamp(min=1.0): the number promotes a count.
Tensor at_least_one(const Tensor& t) {
    const Tensor number = to(t, DType::float32);
    return clamp(number);
}

/// (x * mask).sum(-1) / mask.sum(-1).
Tensor sequence_mean(const Tensor& t, const Tensor& mask) {
    Tensor sum, count;
    {
        const Tensor masked = mul(t, mask);
        sum = sum_dim(masked, -1, false, DType::float32);
    }
    count = sum_dim(mask, -1, false, DType::int64);
    return div(sum, count);
}

/// Ratios that were clipped, and their shares.
struct ClipMetrics {
    Tensor is_low, is_high, is_region, gathered_low, gathered_high;

    ClipMetrics(const Run& run, const Tensor& ratio, const Tensor& advantages, const Tensor& mask) {
        const auto both = [&](Op op) {
            const Tensor of_ratio = compare(op, ratio);
            const Tensor of_advantage = compare(op, advantages);
            return compare(Op::bitwise_and, of_ratio, of_advantage);
        };
        is_low = both(Op::lt);
        is_high = both(Op::gt);
        is_region = compare(Op::bitwise_or, is_low, is_high);
        for (const Tensor* t : {&is_low, &is_high, &is_region}) read_global_mean(run, to(*t, DType::float32), mask);
        const auto all_means = [&](const Tensor& clipped) {
            const Tensor own = sequence_mean(to(clipped, DType::float32), mask);
            return gathered(run, own);
        };
        gathered_low = all_means(is_low);
        read_extreme(gathered_low, Op::min);
        gathered_high = all_means(is_high);
        read_extreme(gathered_high, Op::max);
    }
};

/// (per_token_loss * mask).sum().
Tensor sum_of_masked(const Tensor& per_token_loss, const Tensor& mask) {
    const Tensor masked = mul(per_token_loss, mask);
    return sum_all(masked);
}

/// mask.sum(...).clamp(min=1.0).
Tensor tokens_of(const Tensor& mask, bool of_each_row) {
    const Tensor tokens = of_each_row ? sum_dim(mask, -1, false, DType::int64) : sum_all(mask);
    return at_least_one(tokens);
}

/// self.current_gradient_accumulation_steps and the like divide items: [] float32.
Tensor items_of_step(const Tensor& num_items) {
    const Tensor share = [&] {
        const Tensor items = at_least_one(num_items);
        return div(items, 1.0);
    }();
    const Tensor steps = mul(share, 1.0);
    return div(steps, 1.0);
}

/// The loss before it is divided by the steps of accumulation, which the function holds for its logs.
Tensor policy_loss_of(const Run& run, const Tensor& per_token_loss, const Tensor& mask, const Tensor& num_items) {
    switch (run.plan.preference.grpo.loss) {
        case GroupLoss::dapo: {
            const Tensor items = items_of_step(num_items);
            return div(sum_of_masked(per_token_loss, mask), items);
        }
        case GroupLoss::grpo: {
            const Tensor means = [&] {
                const Tensor sums = [&] {
                    const Tensor masked = mul(per_token_loss, mask);
                    return sum_over(masked, -1, false);
                }();
                return div(sums, tokens_of(mask, true));
            }();
            return mean_all(means);
        }
        case GroupLoss::bnpo: {
            const Tensor sum = sum_of_masked(per_token_loss, mask);
            return div(sum, tokens_of(mask, false));
        }
        case GroupLoss::dr_grpo: break;
    }
    const Tensor sum = sum_of_masked(per_token_loss, mask);
    return div(sum, 1.0);
}

/// torch.exp(d) - d - 1 with d = ref_per_token_logps - per_token_logps, times the ratio (use_bias_correction_kl).
Tensor divergence(const Tensor& reference, const Tensor& log_probs, const Tensor& ratio) {
    Tensor kl;
    {
        const Tensor difference = [&] {
            const Tensor power = [&] {
                const Tensor exponent = sub(reference, log_probs);
                return exp(exponent);
            }();
            const Tensor distance = sub(reference, log_probs);
            return sub(power, distance);
        }();
        kl = sub(difference, 1);
    }
    return mul(kl, ratio);
}

}  // namespace

Tensor grpo_loss(const Run& run, const Network& network, const Rollout& inputs, const Place& place,
                 const ForwardWrapper& wrapper) {
    const GrpoPlan& how = run.plan.preference.grpo;
    const Tensor& mask = inputs.completion_mask;
    const ScoredRows rows = whole_rows(inputs.prompt_ids, inputs.completion_ids, inputs.prompt_mask, mask);
    CompletionScores scores = completion_scores(run, network, rows, kPolicyParts, place, wrapper);
    const Tensor advantages = unsqueeze(inputs.advantages, 1);
    const Tensor& log_probs = scores.log_probs;
    const Tensor old = inputs.old_log_probs.defined() ? inputs.old_log_probs : detach(log_probs);
    const Tensor log_ratio = sub(log_probs, old);
    const Tensor ratio = exp(log_ratio);
    Tensor kl;
    if (how.has_reference) kl = divergence(inputs.reference_log_probs, log_probs, ratio);
    const Tensor clipped = clamp_both(ratio);
    Tensor per_token_loss;
    {
        const Tensor first = mul(ratio, advantages);
        const Tensor second = mul(clipped, advantages);
        const Tensor smaller = minimum(first, second);
        per_token_loss = neg(smaller);
    }
    if (inputs.sampling_ratio.defined()) per_token_loss = mul(per_token_loss, inputs.sampling_ratio);
    if (how.has_reference) {
        const Tensor weighted = mul(kl, 1.0);
        per_token_loss = add(per_token_loss, weighted);
    }
    const Tensor policy_loss = policy_loss_of(run, per_token_loss, mask, inputs.num_items);
    const Tensor loss = how.loss == GroupLoss::dapo ? policy_loss : div(policy_loss, 1.0);
    const GradMode no_grad(run.session, false);
    if (how.has_reference) read_global_mean(run, detach(kl), mask);
    read_global_mean(run, scores.entropies, mask);
    const ClipMetrics clip(run, detach(ratio), advantages, mask);
    return loss;
}

}  // namespace vramfit::model
