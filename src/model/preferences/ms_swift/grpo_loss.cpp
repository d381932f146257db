// ms-swift 4.6 rlhf_trainers/grpo_trainer.py GRPOTrainer._compute_loss_and_metrics.
#include "model/preferences/ms_swift/grpo_loss.hpp"

#include "engine/ops/clamp.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/sum.hpp"
#include "engine/ops/unary.hpp"
#include "engine/ops/view.hpp"
#include "model/preferences/grpo/group_metrics.hpp"
#include "model/preferences/grpo/loss.hpp"
#include "model/preferences/grpo/rewards.hpp"
#include "model/preferences/metrics.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// masked_batch_mean.
Tensor batch_mean(const Tensor& t, const Tensor& mask, const Tensor& tokens) {
    if (has_one_value(t)) return mean_all(t);
    const Tensor sum = sum_of_masked(t, mask);
    return div(sum, tokens);
}

/// gathered.nanmean().item().
void read_nanmean(const Tensor& t) { read_item(nanmean_over(t, 0, false)); }

/// torch.clamp(torch.exp(safe_ratio) - safe_ratio - 1, min=-10, max=10); safe_ratio is the function's.
Tensor clamped_divergence(const Tensor& reference, const Tensor& log_probs, Tensor& safe_ratio) {
    safe_ratio = [&] {
        const Tensor distance = sub(reference, log_probs);
        return clamp_both(distance);
    }();
    const Tensor kl = [&] {
        const Tensor difference = [&] {
            const Tensor power = exp(safe_ratio);
            return sub(power, safe_ratio);
        }();
        return sub(difference, 1);
    }();
    return clamp_both(kl);
}

/// What the function names on its way to the loss.
struct GroupTerms {
    Tensor per_token_loss, ratio, clipped, first, second, temperatures;
};

/// CISPO: -clamped_ratios * advantages * per_token_logps.
void cispo_terms(const Tensor& advantages, const Tensor& log_probs, GroupTerms& out) {
    out.clipped = detach(clamp_above(out.ratio));
    out.per_token_loss = weighted_log_probs(out.clipped, advantages, log_probs);
}

/// torch.sigmoid(tau * (coef_1 - 1)) * (4.0 / tau).
Tensor soft_gate(const Tensor& ratio) {
    const Tensor gate = [&] {
        const Tensor exponent = [&] {
            const Tensor distance = sub(ratio, 1);
            return mul(distance, 1.0);
        }();
        return sigmoid(exponent);
    }();
    return mul(gate, 1.0);
}

void sapo_terms(const Tensor& advantages, GroupTerms& out) {
    out.first = soft_gate(out.ratio);
    out.second = soft_gate(out.ratio);
    out.temperatures = compare(Op::gt, advantages);
    out.clipped = where(out.temperatures, out.first, out.second);
    const Tensor negative = neg(out.clipped);
    out.per_token_loss = mul(negative, advantages);
}

void clipped_terms(const GrpoPlan& how, const Tensor& advantages, GroupTerms& out) {
    out.clipped = clamp_both(out.ratio);
    if (how.clips_both_sides) out.ratio = clamp_above(out.ratio);
    out.first = mul(out.ratio, advantages);
    out.second = mul(out.clipped, advantages);
    const Tensor smaller = minimum(out.first, out.second);
    out.per_token_loss = neg(smaller);
}

Tensor reduced(const Run& run, const Tensor& per_token_loss, const SwiftGroup& inputs) {
    const Tensor& mask = inputs.completion_mask;
    switch (run.plan.preference.grpo.loss) {
        case GroupLoss::dapo:
        case GroupLoss::cispo: {
            const Tensor normalizer = div(inputs.num_items, 1.0);
            const Tensor loss = [&] {
                const Tensor sum = sum_of_masked(per_token_loss, mask);
                return div(sum, normalizer);
            }();
            return mul(loss, 1.0);  // _undo_gradient_accumulation_scaling
        }
        case GroupLoss::bnpo: {
            const Tensor sum = sum_of_masked(per_token_loss, mask);
            const Tensor tokens = sum_all(mask);
            return div(sum, at_least_one(tokens));
        }
        case GroupLoss::dr_grpo: {
            const Tensor sum = sum_of_masked(per_token_loss, mask);
            return div(sum, 1.0);
        }
        default: {
            const Tensor means = masked_means(per_token_loss, mask);
            return mean_all(means);
        }
    }
}

Tensor share_of(const Tensor& flags, const Tensor& mask, const Tensor& tokens) {
    const Tensor numbers = to(flags, DType::float32);
    return batch_mean(numbers, mask, tokens);
}

/// nanmin and nanmax of a 0-dim tensor.
void read_extreme_of_one(const Tensor& t, Op op) {
    const Tensor one = view(t, {1});
    read_extreme(one, op);
}

/// What the metrics hold until the loss is given back.
struct ClippedShares {
    Tensor is_low, is_high, is_region, low, high, region;
};

ClippedShares read_clipping(const Tensor& ratio, const Tensor& advantages, const Tensor& mask, const Tensor& tokens) {
    ClippedShares out;
    out.is_low = clipped_by(Op::lt, ratio, advantages);
    out.is_high = clipped_by(Op::gt, ratio, advantages);
    out.is_region = compare(Op::bitwise_or, out.is_low, out.is_high);
    out.low = share_of(out.is_low, mask, tokens);
    out.high = share_of(out.is_high, mask, tokens);
    out.region = share_of(out.is_region, mask, tokens);
    read_nanmean(out.low);
    read_extreme_of_one(out.low, Op::min);
    read_nanmean(out.high);
    read_extreme_of_one(out.high, Op::max);
    read_nanmean(out.region);
    return out;
}

}  // namespace

Tensor swift_group_loss(const Run& run, const Network& network, const SwiftGroup& inputs, const Place& place) {
    const GrpoPlan& how = run.plan.preference.grpo;
    const Tensor& mask = inputs.completion_mask;
    const Tensor& advantages = inputs.advantages;
    const Tensor log_probs = swift_group_scores(run, network, inputs, place);
    Tensor kl, safe_ratio;
    if (how.has_reference) kl = clamped_divergence(inputs.reference, log_probs, safe_ratio);
    const Tensor log_ratio = sub(log_probs, inputs.log_probs);
    const Tensor weights =
        how.level == SamplingLevel::sequence ? unsqueeze(masked_means(log_ratio, mask), -1) : log_ratio;
    GroupTerms terms;
    terms.ratio = exp(weights);
    if (how.loss == GroupLoss::cispo)
        cispo_terms(advantages, log_probs, terms);
    else if (how.loss == GroupLoss::sapo)
        sapo_terms(advantages, terms);
    else
        clipped_terms(how, advantages, terms);
    if (how.has_reference) {
        const Tensor weighted = mul(kl, 1.0);
        terms.per_token_loss = add(terms.per_token_loss, weighted);
    }
    const Tensor loss = reduced(run, terms.per_token_loss, inputs);
    const GradMode no_grad(run.session, false);
    const Tensor tokens = [&] {
        const Tensor count = sum_all(mask);
        return at_least_one(count);
    }();
    Tensor mean_kl;
    if (how.has_reference) {
        mean_kl = batch_mean(detach(kl), mask, tokens);
        read_nanmean(mean_kl);
    }
    const Tensor ratio = detach(terms.ratio);
    if (how.loss == GroupLoss::cispo) {
        const Tensor is_clipped = clipped_by(Op::gt, ratio, advantages);
        const Tensor share = share_of(is_clipped, mask, tokens);
        read_nanmean(share);
    } else if (how.loss != GroupLoss::sapo) {
        const ClippedShares clipped = read_clipping(ratio, advantages, mask, tokens);
    }
    return loss;
}

}  // namespace vramfit::model
