// ms-swift 4.6 rl_core/grpo_algorithm.py score_completions; rl_core/advantage.py compute_advantages,
// compute_reward_metrics; rlhf_trainers/grpo_trainer.py GRPOTrainer._compute_advantages.
#include "model/preferences/ms_swift/grpo_advantages.hpp"

#include "engine/ops/copy.hpp"
#include "engine/ops/nonzero.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/view.hpp"
#include "model/preferences/grpo/advantages.hpp"
#include "model/preferences/grpo/generation.hpp"
#include "model/preferences/grpo/rewards.hpp"
#include "model/preferences/metrics.hpp"
#include "model/preferences/rows.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

constexpr DimMask kRows = 1, kColumns = 2;

/// (rewards_per_func * reward_weights.unsqueeze(0)).nansum(dim=1).
Tensor weighted_sum(const Tensor& rewards_per_func) {
    const Tensor product = mul(rewards_per_func, 1.0);
    return reduce(product, kColumns, false, DType::float32, Op::nansum);
}

Tensor deviation(const Tensor& t, DimMask dims) { return reduce(t, dims, false, DType::float32, Op::std); }

Tensor mean_of_groups(const Tensor& grouped) { return reduce(grouped, kColumns, false, DType::float32, Op::mean); }

/// compute_reward_metrics.
void read_reward_statistics(const Run& run, const Tensor& rewards, const Tensor& rewards_per_func) {
    const Tensor grouped = in_groups(run, rewards);
    {
        const Tensor means = mean_of_groups(grouped);
        read_mean(means);
    }
    if (run.plan.preference.grpo.scale == RewardScale::batch) {
        read_item(deviation(rewards, kRows));
    } else {
        const Tensor deviations = deviation(grouped, kColumns);
        read_mean(deviations);
    }
    const Tensor is_std_zero = [&] {
        const Tensor deviations = deviation(grouped, kColumns);
        const Tensor zeros = [&] {
            const Tensor again = deviation(grouped, kColumns);
            return zeros_like(again);
        }();
        return is_close(deviations, zeros);
    }();
    {
        const Tensor numbers = to(is_std_zero, DType::float32);
        read_mean(numbers);
    }
    Tensor valid;
    for (Size i = 0; i < rewards_per_func.size(1); i = i + 1) {
        const Tensor numbers = [&] {
            const Tensor nan = compare(Op::ne, select(rewards_per_func, 1));
            return compare(Op::bitwise_not, nan);
        }();
        valid = index_by_mask(select(rewards_per_func, 1), numbers, rewards_per_func.size(0));
        read_mean(valid);
        read_item(deviation(valid, kRows));
    }
}

/// rewards - group_mean, by the deviation of a group or of all.
Tensor scaled_advantages(const Run& run, const Tensor& rewards) {
    const Tensor grouped = in_groups(run, rewards);
    const Tensor group_mean = [&] {
        const Tensor means = mean_of_groups(grouped);
        return repeated_in_group(run, means);
    }();
    const Tensor advantages = sub(rewards, group_mean);
    const RewardScale scale = run.plan.preference.grpo.scale;
    if (scale == RewardScale::none) return advantages;
    const Tensor spread = [&] {
        if (scale == RewardScale::batch) return expand(deviation(rewards, kRows), rewards.sizes());
        const Tensor deviations = deviation(grouped, kColumns);
        return repeated_in_group(run, deviations);
    }();
    const Tensor divisor = add(spread, 1.0);
    return div(advantages, divisor);
}

}  // namespace

Tensor swift_rewards(const Run& run, const Size& rows) {
    const std::int64_t functions = run.plan.preference.grpo.reward_functions;
    const Tensor per_func = empty(run.session, {rows, functions}, DType::float32, Op::zeros);
    for (std::int64_t i = 0; i < functions; ++i) const Tensor of_function = moved(run, {rows}, DType::float32);
    const Tensor none = [&] {
        const Tensor nan = compare(Op::ne, per_func, per_func);
        return reduce(nan, kColumns, false, DType::boolean, Op::all);
    }();
    const Tensor any = any_of(none, kRows);
    run.session.streams.host_waits(0);
    return per_func;
}

Tensor swift_advantages(const Run& run, const Tensor& rewards_per_func) {
    const Tensor unused = weighted_sum(rewards_per_func);  // `rewards`, of which only other estimators make use
    const Tensor rewards = weighted_sum(rewards_per_func);
    const Tensor advantages = scaled_advantages(run, rewards);
    read_reward_statistics(run, rewards, rewards_per_func);
    return advantages;
}

}  // namespace vramfit::model
