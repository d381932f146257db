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

Tensor at_least_one(const Tensor& t) {
    const Tensor number = to(t, DType::float32);
    return clamp(number);
}

Tensor sum_of_masked(const Tensor& per_token_loss, const Tensor& mask) {
    const Tensor masked = mul(per_token_loss, mask);
    return sum_all(masked);
}

namespace {

/// mask.sum(...).clamp(min=1.0).
Tensor tokens_of(const Tensor& mask, bool of_each_row) {
    const Tensor tokens = of_each_row ? sum_dim(mask, -1, false, DType::int64) : sum_all(mask);
    return at_least_one(tokens);
}

/// (t * mask).sum(-1) on the tape.
Tensor masked_sums(const Tensor& t, const Tensor& mask) {
    const Tensor masked = mul(t, mask);
    return sum_over(masked, -1, false);
}

}  // namespace

Tensor masked_means(const Tensor& t, const Tensor& mask) {
    const Tensor sums = masked_sums(t, mask);
    return div(sums, tokens_of(mask, true));
}

Tensor clipped_by(Op op, const Tensor& ratio, const Tensor& advantages) {
    const Tensor of_ratio = compare(op, ratio);
    const Tensor of_advantage = compare(op, advantages);
    return compare(Op::bitwise_and, of_ratio, of_advantage);
}

Tensor weighted_log_probs(const Tensor& weights, const Tensor& advantages, const Tensor& log_probs) {
    const Tensor weighted = [&] {
        const Tensor negative = neg(weights);
        return mul(negative, advantages);
    }();
    return mul(weighted, log_probs);
}

namespace {

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

/// masked_seq_mean: what has one value for each row is that.
Tensor masked_sequence_mean(const Tensor& t, const Tensor& mask) {
    return has_one_value(t) ? select(t, 1) : sequence_mean(t, mask);
}

/// Ratios that were clipped, and their shares.
struct ClipMetrics {
    Tensor is_low, is_high, is_region, gathered_low, gathered_high;

    ClipMetrics(const Run& run, const Tensor& ratio, const Tensor& advantages, const Tensor& mask) {
        is_low = clipped_by(Op::lt, ratio, advantages);
        is_high = clipped_by(Op::gt, ratio, advantages);
        is_region = compare(Op::bitwise_or, is_low, is_high);
        for (const Tensor* t : {&is_low, &is_high, &is_region}) read_global_mean(run, to(*t, DType::float32), mask);
        const auto all_means = [&](const Tensor& clipped) {
            const Tensor own = masked_sequence_mean(to(clipped, DType::float32), mask);
            return gathered(run, own);
        };
        gathered_low = all_means(is_low);
        read_extreme(gathered_low, Op::min);
        gathered_high = all_means(is_high);
        read_extreme(gathered_high, Op::max);
    }
};

/// self.current_gradient_accumulation_steps and the like divide items: [] float32.
Tensor items_of_step(const Tensor& num_items) {
    Tensor share = [&] {
        const Tensor items = at_least_one(num_items);
        return div(items, 1.0);
    }();
    if (!num_items.session().stack.grpo_shares_items_among_steps()) return share;
    const Tensor steps = mul(share, 1.0);
    return div(steps, 1.0);
}

/// Whether num_items_in_batch divides the loss, which the steps of accumulation have a part in.
bool is_divided_by_items(GroupLoss loss) {
    return loss == GroupLoss::dapo || loss == GroupLoss::cispo || loss == GroupLoss::vespo;
}

/// The loss before it is divided by the steps of accumulation, which the function holds for its logs.
Tensor policy_loss_of(const Run& run, const Tensor& per_token_loss, const Tensor& mask, const Tensor& num_items) {
    switch (run.plan.preference.grpo.loss) {
        case GroupLoss::dapo:
        case GroupLoss::cispo:
        case GroupLoss::vespo: {
            const Tensor items = items_of_step(num_items);
            return div(sum_of_masked(per_token_loss, mask), items);
        }
        case GroupLoss::grpo:
        case GroupLoss::sapo: {
            const Tensor means = masked_means(per_token_loss, mask);
            return mean_all(means);
        }
        case GroupLoss::luspo: {
            if (!run.stack.luspo_masks_tokens()) {
                const Tensor tokens = sum_dim(mask, 1, true, DType::int64);
                const Tensor weighted = mul(per_token_loss, tokens);
                return mean_all(weighted);
            }
            const Tensor sums = masked_sums(per_token_loss, mask);
            return mean_all(sums);
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
Tensor divergence(const Run& run, const Tensor& reference, const Tensor& log_probs, const Tensor& ratio) {
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
    const GrpoPlan& how = run.plan.preference.grpo;
    return how.corrects_divergence.value_or(run.stack.grpo_weights_divergence()) ? mul(kl, ratio) : kl;
}

/// -torch.min(coef_1 * advantages, coef_2 * advantages); coef_2 is held by the function.
Tensor clipped_loss(const GrpoPlan& how, Tensor& ratio, Tensor& clipped, const Tensor& advantages) {
    clipped = clamp_both(ratio);
    if (how.clips_both_sides) ratio = clamp_above(ratio);
    const Tensor first = mul(ratio, advantages);
    const Tensor second = mul(clipped, advantages);
    const Tensor smaller = minimum(first, second);
    return neg(smaller);
}

/// torch.where(condition, number, other): both are 0-dim tensors on the device (ATen/native/TensorCompare.cpp where).
Tensor one_of_two_numbers(const Tensor& condition) {
    Session& session = condition.session();
    const Tensor other = empty(session, {}, DType::float32, Op::scalar_tensor);
    const Tensor number = empty(session, {}, DType::float32, Op::scalar_tensor);
    return where(condition, number, other);
}

/// SAPO: -torch.sigmoid(temperatures * (coef_1 - 1)) * 4 / temperatures * advantages.
Tensor soft_loss(const Tensor& ratio, const Tensor& advantages, Tensor& temperatures, Tensor& soft) {
    {
        const Tensor is_positive = compare(Op::gt, advantages);
        temperatures = one_of_two_numbers(is_positive);
    }
    {
        const Tensor scaled = [&] {
            const Tensor gate = [&] {
                const Tensor exponent = [&] {
                    const Tensor distance = sub(ratio, 1);
                    return mul(temperatures, distance);
                }();
                return sigmoid(exponent);
            }();
            return mul(gate, 4);
        }();
        soft = div(scaled, temperatures);
    }
    const Tensor negative = neg(soft);
    return mul(negative, advantages);
}

/// get_gamma_weights of VESPO: [B, 1].
Tensor gamma_weights(const Run& run, const Tensor& advantages, const Tensor& given_log_ratio, const Tensor& mask,
                     const Tensor& sampling_ratio) {
    const GradMode no_grad(run.session, false);
    const Tensor log_ratio = clamp_both(detach(given_log_ratio));
    Tensor seq_log_ratio;
    {
        const Tensor masked = mul(log_ratio, mask);
        seq_log_ratio = sum_dim(masked, -1, true, DType::float32);
    }
    Tensor log_is_ratio;
    if (sampling_ratio.defined()) {
        {
            const Tensor logarithms = log(sampling_ratio);
            log_is_ratio = clamp_both(logarithms);
        }
        const Tensor sum = sum_dim(log_is_ratio, -1, true, DType::float32);
        add_(seq_log_ratio, sum);
    }
    const Tensor log_w = clamp_both(seq_log_ratio);
    const Tensor w = exp(log_w);
    const Tensor is_nonnegative = compare(Op::ge, advantages);
    const Tensor k = one_of_two_numbers(is_nonnegative);
    const Tensor lambda = [&] {
        const Tensor chosen = one_of_two_numbers(is_nonnegative);
        return clamp(chosen);
    }();
    const Tensor log_phi = [&] {
        const Tensor sum = [&] {
            const Tensor product = mul(k, log_w);
            return add(lambda, product);
        }();
        const Tensor product = mul(lambda, w);
        return sub(sum, product);
    }();
    const Tensor phi = exp(log_phi);
    return pointwise_result(phi, DType::float32, Op::nan_to_num);
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
    const Tensor weights =
        how.level == SamplingLevel::sequence ? unsqueeze(masked_means(log_ratio, mask), 1) : log_ratio;
    Tensor ratio = exp(weights);
    Tensor kl;
    if (how.has_reference) kl = divergence(run, inputs.reference_log_probs, log_probs, ratio);
    Tensor per_token_loss, clipped, temperatures, soft, phi;
    switch (how.loss) {
        case GroupLoss::cispo:
            clipped = detach(clamp_above(ratio));
            per_token_loss = weighted_log_probs(clipped, advantages, log_probs);
            break;
        case GroupLoss::sapo: per_token_loss = soft_loss(ratio, advantages, temperatures, soft); break;
        case GroupLoss::vespo:
            phi = gamma_weights(run, advantages, log_ratio, mask, inputs.sampling_ratio);
            per_token_loss = weighted_log_probs(phi, advantages, log_probs);
            break;
        default: per_token_loss = clipped_loss(how, ratio, clipped, advantages);
    }
    if (inputs.sampling_ratio.defined() && how.loss != GroupLoss::vespo)
        per_token_loss = mul(per_token_loss, inputs.sampling_ratio);
    if (how.has_reference) {
        const Tensor weighted = mul(kl, 1.0);
        per_token_loss = add(per_token_loss, weighted);
    }
    const Tensor policy_loss = policy_loss_of(run, per_token_loss, mask, inputs.num_items);
    const Tensor loss = is_divided_by_items(how.loss) ? policy_loss : div(policy_loss, 1.0);
    const GradMode no_grad(run.session, false);
    if (how.has_reference) read_global_mean(run, detach(kl), mask);
    read_global_mean(run, scores.entropies, mask);
    switch (how.loss) {
        case GroupLoss::sapo: break;
        case GroupLoss::cispo: {
            const Tensor is_clipped = clipped_by(Op::gt, detach(ratio), advantages);
            read_global_mean(run, to(is_clipped, DType::float32), mask);
            break;
        }
        case GroupLoss::vespo: read_global_mean(run, phi, mask); break;
        default: {
            const ClipMetrics clip(run, detach(ratio), advantages, mask);
        }
    }
    return loss;
}

}  // namespace vramfit::model
