// trl 1.16 trainer/grpo_trainer.py GRPOTrainer._generate_and_score_completions, rloo_trainer.py RLOOTrainer's.
#include "model/preferences/grpo/advantages.hpp"

#include <utility>

#include "engine/ops/clamp.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/view.hpp"
#include "model/preferences/grpo/group_metrics.hpp"
#include "model/preferences/metrics.hpp"

namespace vramfit::model {

using namespace engine;

Tensor in_groups(const Run& run, const Tensor& t) {
    const Size group = run.plan.preference.grpo.num_generations;
    return view(t, {t.size(0) / group, group});
}

Tensor repeated_in_group(const Run& run, const Tensor& t) {
    const Size group = run.plan.preference.grpo.num_generations;
    return view(clone_contiguous(expand(unsqueeze(t, 1), {t.size(0), group})), {t.size(0) * group});
}

namespace {

Tensor nan_to_zero(const Tensor& t) { return pointwise_result(t, DType::float32, Op::nan_to_num); }

/// (~torch.isnan(grouped_rewards)).sum(dim=1, keepdim=True).
Tensor numbers_of(const Tensor& grouped) {
    const Tensor numbers = [&] {
        const Tensor nan = compare(Op::ne, grouped);
        return compare(Op::bitwise_not, nan);
    }();
    return reduce(numbers, 2, true, DType::int64, Op::sum);
}

/// The mean reward of the others of a group: (grouped_sum - grouped_rewards) / (scorable_counts - 1).
Tensor mean_of_others(const Tensor& grouped, const Tensor& sums, const Tensor& counts) {
    const Tensor others = sub(sums, grouped);
    const Tensor fewer = sub(counts, 1);
    return div(others, fewer);
}

/// (advantages - nanmean(advantages)) / (nanstd(advantages) + 1e-4).
Tensor normalized(const Tensor& advantages) {
    const Tensor distance = [&] {
        const Tensor mean = nanmean_over(advantages, 1, false);
        return sub(advantages, mean);
    }();
    const Tensor divisor = [&] {
        const Tensor deviation = nanstd_over(advantages, 1);
        return add(deviation, 1.0);
    }();
    return div(distance, divisor);
}

}  // namespace

Rewards group_advantages(const Run& run, Tensor rewards_per_func) {
    Rewards r = rewards_of(run, std::move(rewards_per_func));
    r.grouped = nanmean_over(in_groups(run, r.rewards), 2, false);
    r.grouped = repeated_in_group(run, r.grouped);
    const RewardScale scale = run.plan.preference.grpo.scale;
    if (scale == RewardScale::batch) {
        r.std_rewards = expand(nanstd_over(r.rewards, 1), r.rewards.sizes());
    } else {
        r.std_rewards = select(nanstd_over(in_groups(run, r.rewards), 2), 1);
        r.std_rewards = repeated_in_group(run, r.std_rewards);
    }
    r.advantages = sub(r.rewards, r.grouped);
    if (scale != RewardScale::none) {
        const Tensor divisor = add(r.std_rewards, 1.0);
        r.advantages = div(r.advantages, divisor);
    }
    r.is_std_zero = is_close_to_zero(r.std_rewards);
    r.advantages = nan_to_zero(r.advantages);
    keep_own_advantages(run, r);
    log_rewards(run, r);
    return r;
}

Rewards leave_one_out_advantages(const Run& run, Tensor rewards_per_func, const ScoredCompletions& scored) {
    const GrpoPlan& how = run.plan.preference.grpo;
    Rewards r = rewards_of(run, std::move(rewards_per_func));
    if (how.clips_rewards) r.rewards = clamp_both(r.rewards);
    if (how.has_reference) {
        r.per_token_kl = sub(scored.policy, scored.reference);
        {
            const Tensor masked = mul(r.per_token_kl, scored.mask);
            r.kl = sum_dim(masked, -1, false, masked.dtype());
        }
        r.kl = gathered(run, r.kl);
        const Tensor penalty = mul(r.kl, 1.0);
        r.rewards = sub(r.rewards, penalty);
    }
    r.grouped_rewards = in_groups(run, r.rewards);
    r.grouped = nanmean_over(r.grouped_rewards, 2, false);
    r.std_rewards = select(nanstd_over(r.grouped_rewards, 2), 1);
    r.scorable_counts = numbers_of(r.grouped_rewards);
    r.grouped_sum = reduce(r.grouped_rewards, 2, true, DType::float32, Op::nansum);
    r.baselines = mean_of_others(r.grouped_rewards, r.grouped_sum, r.scorable_counts);
    r.advantages = sub(r.rewards, view(r.baselines, r.rewards.sizes()));
    if (how.normalizes_advantages) r.advantages = normalized(r.advantages);
    r.advantages = nan_to_zero(r.advantages);
    r.is_std_zero = is_close_to_zero(r.std_rewards);
    keep_own_advantages(run, r);
    if (how.has_reference) r.kl_stats = read_mean_of_list(run, r.per_token_kl, scored.mask);
    log_rewards(run, r);
    return r;
}

}  // namespace vramfit::model
