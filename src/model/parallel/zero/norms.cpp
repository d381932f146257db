// Each scalar operator allocates its result, down to single bytes.
#include "model/parallel/zero/norms.hpp"

#include <vector>

#include "engine/ops/copy.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/session.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

DimMask every_dim(const Tensor& t) { return (1u << t.dim()) - 1u; }

Tensor logical(const Tensor& t, Op op) { return pointwise_result(t, DType::boolean, op); }

/// (~torch.isfinite(t) | (t < 0)).any()
Tensor any_invalid(const Tensor& t) {
    Tensor either;
    {
        Tensor infinite;
        {
            const Tensor finite = is_finite(t);
            infinite = logical(finite, Op::bitwise_not);
        }
        const Tensor negative = compare(Op::lt, t);
        either = logical(infinite, Op::bitwise_or);
    }
    return reduce(either, every_dim(either), false, DType::boolean, Op::any);
}

}  // namespace

// ATen/native/TensorCompare.cpp isfinite: (self == self) * (self.abs() != inf), the right side first.
Tensor is_finite(const Tensor& t) {
    const Tensor magnitude = pointwise_result(t, t.dtype(), Op::abs);
    const Tensor bounded = compare(Op::ne, magnitude);
    const Tensor itself = compare(Op::eq, t);
    return logical(itself, Op::mul);
}

Tensor has_inf_or_nan(const Tensor& t) {
    const auto finite_extreme = [&t](Op op) { return is_finite(reduce(t, every_dim(t), false, t.dtype(), op)); };
    Tensor both;
    {
        const Tensor high = finite_extreme(Op::amax);
        const Tensor low = finite_extreme(Op::amin);
        both = logical(high, Op::logical_and);
    }
    return logical(both, Op::logical_not);
}

void check_overflow(Session& session, std::span<const Tensor> gradients) {
    Tensor any;
    {
        const Tensor count = zeros(session, {1}, DType::float32);
        for (const Tensor& gradient : gradients) const Tensor added = has_inf_or_nan(gradient);
        any = to(count, DType::boolean);
    }
    const Tensor byte = to(any, DType::uint8);
    any.reset();
    session.streams.host_waits(0);
}

Tensor double_norm(const Tensor& gradient) {
    const Tensor wide = to(gradient, DType::float64);
    return reduce(wide, every_dim(wide), false, DType::float64, Op::linalg_vector_norm);
}

void mask_invalid(const Tensor& norm) {
    Tensor infinite;
    {
        const Tensor magnitude = pointwise_result(norm, norm.dtype(), Op::abs);
        infinite = compare(Op::eq, magnitude);
    }
    const Tensor not_a_number = compare(Op::ne, norm);
    const Tensor either = logical(not_a_number, Op::logical_or);
    const Tensor minus_one = empty(norm.session(), {}, DType::float32, Op::to_copy);
}

Tensor grad_norm(Session& session, std::span<const Tensor> gradients) {
    std::vector<Tensor> norms;
    for (const Tensor& gradient : gradients) norms.push_back(double_norm(gradient));
    Tensor total;
    {
        Tensor squares;
        {
            const Tensor stacked = empty(session, {static_cast<std::int64_t>(norms.size())}, DType::float64, Op::cat);
            squares = pointwise_result(stacked, DType::float64, Op::pow);
        }
        total = reduce(squares, 1, false, DType::float64, Op::sum);
    }
    total = to(total, DType::float32);
    total = pointwise_result(total, DType::float32, Op::pow);
    mask_invalid(total);
    return total;
}

Tensor combine_norms(Session& session, std::span<const Tensor> norms) {
    const DType dtype = norms[0].dtype();
    const Tensor stacked = empty(session, {static_cast<std::int64_t>(norms.size())}, dtype, Op::cat);
    const Tensor invalid = any_invalid(stacked);
    const Tensor combined = reduce(stacked, 1, false, dtype, Op::linalg_vector_norm);
    const Tensor infinity = pointwise_result(combined, dtype, Op::full_like);
    return where(invalid, infinity, combined);
}

Tensor masked_sum(const Tensor& invalid, const Tensor& instead, const Tensor& norm) {
    const Tensor bad = mul(invalid, instead);
    Tensor good;
    {
        const Tensor valid = logical(invalid, Op::logical_not);
        good = mul(valid, norm);
    }
    return add(bad, good);
}

Tensor has_inf_or_nan_in_float32(const Tensor& t) {
    const Tensor wide = to(t, DType::float32);
    const Tensor not_a_number = compare(Op::ne, wide);
    Tensor infinite;
    {
        const Tensor magnitude = pointwise_result(wide, DType::float32, Op::abs);
        infinite = compare(Op::eq, magnitude);
    }
    const Tensor either = logical(not_a_number, Op::logical_or);
    const Tensor flags = to(either, DType::float32);
    return reduce(flags, every_dim(flags), false, DType::float32, Op::max);
}

Tensor mean_of_loss(const Tensor& loss) {
    const GradMode no_grad(loss.session(), false);
    return pointwise_result(loss, loss.dtype(), Op::mean);
}

void look_at_norm(const Tensor& norm) {
    const Tensor invalid = any_invalid(norm);
    norm.session().streams.host_waits(0);
}

void clip_factor(const Tensor& norm) {
    look_at_norm(norm);
    scale_to_clip(norm);
}

void scale_to_clip(const Tensor& norm) {
    Tensor clip = div(norm, 1.0);
    clip = add(clip, 1e-6);
    clip = div(clip, 1.0);
    clip = clamp(clip);
    const Tensor combined = mul(clip, 1.0);
    Tensor factor = reciprocal(combined);
    factor = mul(factor, 1.0);
}

}  // namespace vramfit::model
