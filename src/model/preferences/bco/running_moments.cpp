// trl 1.9 experimental/bco/bco_trainer.py RunningMoments.update.
#include "model/preferences/bco/running_moments.hpp"

#include "engine/ops/copy.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/unary.hpp"
#include "model/preferences/metrics.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// t * number / number.
Tensor scaled(const Tensor& t) {
    const Tensor product = mul(t, 1.0);
    return div(product, 1.0);
}

/// (variance * n / (n - 1)).float().sqrt().item().
void read_deviation(const Tensor& variance) { read_item(sqrt(scaled(variance))); }

}  // namespace

void update_running_moments(const Tensor& rewards) {
    const DimMask all = 1;
    Tensor variance = reduce(rewards, all, false, rewards.dtype(), Op::var_mean);
    Tensor mean = reduce(rewards, all, false, rewards.dtype(), Op::var_mean);
    {
        const Tensor cast = to(mean, DType::float32);
        variance = to(variance, DType::float32);
        mean = cast;
    }
    const Tensor delta = sub(mean, 0.0);
    const Tensor new_sum = mul(variance, 1.0);
    const Tensor old_sum = [&] {
        Tensor gap = square(delta);
        for (int factor = 0; factor < 2; ++factor) gap = mul(gap, 1.0);
        gap = div(gap, 1.0);
        return add(gap, 0.0);
    }();
    const Tensor total = add(old_sum, new_sum);
    read_item(scaled(delta));
    const Tensor new_variance = div(total, 1.0);
    read_deviation(new_variance);
    read_item(new_variance);
    read_item(mean);
    read_deviation(variance);
}

}  // namespace vramfit::model
