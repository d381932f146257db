// trl 1.9 experimental/ppo/ppo_trainer.py masked_mean, masked_var, masked_whiten; experimental/utils.py
// first_true_indices.
#include "model/preferences/ppo/masked.hpp"

#include "engine/ops/copy.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"

namespace vramfit::model {

using namespace engine;

// (values * mask).sum() / mask.sum().
Tensor masked_mean(const Tensor& values, const Tensor& mask) {
    const Tensor sum = [&] {
        const Tensor product = mul(values, mask);
        return sum_all(product);
    }();
    const Tensor count = sum_all(mask);
    return div(sum, count);
}

namespace {

/// The host reads whether nothing is left.
Tensor masked_var(const Tensor& values, const Tensor& mask) {
    const Tensor mean = masked_mean(values, mask);
    const Tensor centered = sub(values, mean);
    Tensor variance = [&] {
        const Tensor squares = square(centered);
        return masked_mean(squares, mask);
    }();
    const Tensor count = sum_all(mask);
    {
        const Tensor none = compare(Op::eq, count);
        values.session().streams.host_waits(0);
    }
    const Tensor correction = [&] {
        const Tensor fewer = sub(count, 1);
        return div(count, fewer);
    }();
    variance = mul(variance, correction);
    return variance;
}

}  // namespace

Tensor masked_whiten(const Tensor& values, const Tensor& padding, bool shift_mean) {
    const Tensor mask = compare(Op::bitwise_not, padding);
    const Tensor mean = masked_mean(values, mask), variance = masked_var(values, mask);
    const Tensor difference = sub(values, mean);
    const Tensor scale = [&] {
        const Tensor positive = add(variance, 1.0);
        return rsqrt(positive);
    }();
    Tensor whitened = mul(difference, scale);
    if (!shift_mean) add_(whitened, mean);
    return whitened;
}

Tensor first_true_indices(Tensor bools) {
    Session& session = bools.session();
    const Tensor zero_or_index = [&] {
        Tensor length_or_zero = [&] {
            const Tensor numbers = [&] {
                const Tensor other = compare(Op::bitwise_not, bools);
                return to(other, DType::int64);
            }();
            return mul(numbers, 1);
        }();
        const Tensor range = arange(session, bools.size(1));
        Tensor sum = add(length_or_zero, range);
        length_or_zero.reset();
        return sum;
    }();
    Tensor first = empty(session, {bools.size(0)}, DType::int64, Op::min);
    { const Tensor places = empty(session, {bools.size(0)}, DType::int64, Op::min); }
    bools.reset();
    return first;
}

}  // namespace vramfit::model
