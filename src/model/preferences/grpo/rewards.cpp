// trl 1.16 trainer/grpo_trainer.py GRPOTrainer._calculate_rewards, _generate_and_score_completions, and the same of
// rloo_trainer.py; trainer/utils.py nanstd.
#include "model/preferences/grpo/rewards.hpp"

#include "engine/ops/copy.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/unary.hpp"
#include "engine/ops/view.hpp"
#include "model/preferences/grpo/generation.hpp"
#include "model/preferences/grpo/reward_models.hpp"
#include "model/preferences/metrics.hpp"
#include "model/preferences/rows.hpp"
#include "model/second/second_network.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

Tensor is_nan(const Tensor& t) { return compare(Op::ne, t); }

Tensor nansum_over(const Tensor& t, std::uint32_t dims, bool keepdim) {
    return reduce(t, dims, keepdim, t.dtype(), Op::nansum);
}

/// torch.isnan(rewards).all(dim=1).
Tensor has_none(const Tensor& rewards) {
    const Tensor nan = is_nan(rewards);
    return reduce(nan, 2, false, DType::boolean, Op::all);
}

/// (rewards_per_func * self.reward_weights.to(device).unsqueeze(0)).nansum(dim=1).
Tensor weighted(const Run& run, const Tensor& rewards_per_func) {
    Tensor product;
    {
        const Tensor weights = moved(run, {reward_sources(run.plan)}, DType::float32);
        product = mul(rewards_per_func, unsqueeze(weights, 0));
    }
    return nansum_over(product, 2, false);
}

}  // namespace

// ATen/native/ReduceOps.cpp nanmean: the sum by the count of numbers.
Tensor nanmean_over(const Tensor& t, std::uint32_t dims, bool keepdim) {
    const Tensor count = [&] {
        const Tensor is_number = is_nan(t);  // turned round in place
        return reduce(is_number, dims, keepdim, DType::int64, Op::sum);
    }();
    const Tensor sum = nansum_over(t, dims, keepdim);
    return div(sum, count);
}

Tensor nanstd_over(const Tensor& t, std::uint32_t dims) {
    const Tensor mean = nanmean_over(t, dims, true);
    Tensor variance;
    {
        const Tensor squares = [&] {
            const Tensor difference = sub(t, mean);
            return square(difference);
        }();
        variance = nanmean_over(squares, dims, true);
    }
    Tensor count;
    {
        const Tensor numbers = [&] {
            const Tensor nan = is_nan(t);
            return compare(Op::bitwise_not, nan);
        }();
        count = reduce(numbers, dims, true, DType::int64, Op::sum);
    }
    Tensor correction;
    {
        const Tensor fewer = sub(count, 1);
        correction = div(count, fewer);
    }
    {
        const Tensor several = compare(Op::gt, count);
        const Tensor none = empty(t.session(), correction.sizes(), correction.dtype(), Op::full_like);
        correction = where(several, correction, none);
    }
    return sqrt(variance);
}

namespace {

/// What each model and function says: [G, how many there are]. `inputs` is held of the last reward model.
Tensor rewards_by_source(const Run& run, const Size& rows, Batch& inputs) {
    Tensor per_func = empty(run.session, {rows, reward_sources(run.plan)}, DType::float32, Op::zeros);
    if (run.evaluated_networks)
        for (std::size_t i = 0; i < run.evaluated_networks->reward_models.size(); ++i)
            give_rewards(run, rows, i, inputs);
    for (std::int64_t i = 0; i < run.plan.preference.grpo.reward_functions; ++i)
        const Tensor of_function = moved(run, {rows}, DType::float32);
    return per_func;
}

}  // namespace

Tensor summed_rewards(const Run& run, const Size& rows) {
    Batch inputs;
    const Tensor per_func = rewards_by_source(run, rows, inputs);
    return weighted(run, per_func);
}

Tensor calculate_rewards(const Run& run, const Size& rows) {
    Session& session = run.session;
    Batch inputs;  // of the last reward model
    Tensor per_func = rewards_by_source(run, rows, inputs);
    {
        Tensor none = has_none(per_func);
        const Tensor any = any_of(none, 1);
        none.reset();
        session.streams.host_waits(0);
    }
    return gathered(run, per_func);
}

// ATen/native/TensorCompare.cpp isclose.
Tensor is_close(const Tensor& t, const Tensor& zeros) {
    const Tensor close = compare(Op::eq, t, zeros);
    Tensor allowed;
    {
        const Tensor relative = mul(zeros, 1.0);
        const Tensor magnitude = abs(relative);
        allowed = add(magnitude, 1.0);
    }
    Tensor error;
    {
        const Tensor difference = sub(t, zeros);
        error = abs(difference);
    }
    Tensor is_finite;
    {
        const Tensor magnitude = abs(error);
        const Tensor differs = compare(Op::ne, magnitude);
        const Tensor equal = compare(Op::eq, error, error);
        is_finite = compare(Op::mul, equal, differs);
    }
    const Tensor within = compare(Op::le, error, allowed);
    return close;
}

Tensor is_close_to_zero(const Tensor& t) {
    const Tensor zeros = zeros_like(t);
    return is_close(t, zeros);
}

Rewards rewards_of(const Run& run, Tensor rewards_per_func) {
    Rewards r;
    r.rewards_per_func = std::move(rewards_per_func);
    r.unscorable_mask = has_none(r.rewards_per_func);
    r.rewards = weighted(run, r.rewards_per_func);
    return r;
}

void keep_own_advantages(const Run& run, Rewards& r) {
    r.all_process_advantages = clone(r.advantages);
    const Size all = r.advantages.size(0), own = run.plan.distributed ? all / run.plan.distributed->world_size : all;
    const Size first = run.plan.distributed ? own * run.plan.distributed->rank : Size(0);
    r.advantages = slice(r.advantages, 0, first, first + own);
}

void log_rewards(const Run& run, Rewards& r) {
    for (std::int64_t i = 0; i < reward_sources(run.plan); ++i) {
        const Tensor of_function = select(r.rewards_per_func, 1);
        read_item(nanmean_over(of_function, 1, false));
        read_item(nanstd_over(of_function, 1));
    }
    r.rewards = weighted(run, r.rewards_per_func);
    read_item(nanmean_over(r.rewards, 1, false));
    read_item(nanstd_over(r.rewards, 1));
    {
        const Tensor numbers = to(r.is_std_zero, DType::float32);
        read_mean(numbers);
    }
    // rewards_per_func[:, i].tolist(): a column of several is copied together.
    for (std::int64_t i = 0; i < reward_sources(run.plan); ++i)
        const Tensor of_function = contiguous(select(r.rewards_per_func, 1));
}

}  // namespace vramfit::model
