// Reductions (torch 2.11 ATen/native/ReduceOps.cpp, cuda/ReduceSumProdKernel.cu, cuda/ReduceMomentKernel.cu).
#include "engine/ops/reduce.hpp"

#include <algorithm>

#include "engine/ops/copy.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/pointwise_backward.hpp"
#include "engine/ops/reduce_scratch.hpp"
#include "engine/ops/view.hpp"
#include "engine/session.hpp"

namespace vramfit::engine {

namespace {

Dims reduced_sizes(const Dims& sizes, DimMask dims, bool keepdim) {
    Dims out;
    for (int i = 0; i < sizes.size(); ++i) {
        if (!((dims >> i) & 1u))
            out.push(sizes[i]);
        else if (keepdim)
            out.push(1);
    }
    return out;
}

// mean_backward: the gradient expanded to the input's shape, divided by the count.
void mean_backward(Node& node, Grads& in, Grads& out) {
    const Dims& sizes = node.dims[0];
    if (in[0].dim() == 0) {
        out[0] = div(expand(in[0], sizes), 1.0);
        return;
    }
    out[0] = div(expand(in[0], sizes), 1.0);
}
const NodeType kMeanBackward{"MeanBackward1", mean_backward};

Ref<Node> mean_node(const Tensor& t) {
    Ref<Node> node = make_node(t.session(), kMeanBackward);
    add_edge(*node, t);
    node->dims[0] = t.sizes();
    return node;
}

/// Halves are added up in float, integers and bools in their own type; sums of halves load eight at once
/// (cuda/ReduceSumProdKernel.cu sum_functor, ReduceLogicKernel.cu, ReduceMomentKernel.cu).
ReduceTypes types_of(const Tensor& input, const Tensor& out, Op op) {
    ReduceTypes types;
    types.input = static_cast<int>(element_size(input.dtype()));
    types.output = static_cast<int>(element_size(out.dtype()));
    const bool compares = op == Op::amax || op == Op::amin;  // cuda/ReduceMaxValuesKernel.cu: no sums, no wider type
    types.accumulate = is_floating(input.dtype()) && !compares ? std::max(types.input, 4) : types.input;
    types.vector = op == Op::sum && is_floating(input.dtype()) && types.input == 2 ? 8 : 4;
    if (op == Op::std) {  // cuda/ReduceMomentKernel.cu std_var_kernel_impl: WelfordData of floats, two values at once
        types.accumulate = 16;
        types.vector = 2;
    }
    return types;
}

DimMask all_dims(const Tensor& t) { return (1u << t.dim()) - 1u; }

/// What a reduction takes beside its result.
void take_scratch(Session& session, const ReducePlan& plan) {
    Tensor accumulation;
    if (session.decide("reduction accumulates", plan.accumulation > 0))
        accumulation = empty(session, {plan.accumulation}, DType::uint8, Op::reduce_scratch);
    for (const ReduceScratch& part : plan.parts) {
        if (!session.decide("reduction split", part.buffer > 0)) continue;
        const Tensor buffer = empty(session, {part.buffer}, DType::uint8, Op::reduce_scratch);
        const Tensor semaphores = empty(session, {part.semaphores}, DType::uint8, Op::reduce_scratch);
    }
}

}  // namespace

Tensor reduce(const Tensor& t, DimMask dims, bool keepdim, DType dtype, Op op) {
    Session& session = t.session();
    Tensor out = empty(session, reduced_sizes(t.sizes(), dims, keepdim), dtype, op);
    Tensor input = t;
    if (!is_floating(t.dtype()) && t.dtype() != dtype) input = to(t, dtype);
    take_scratch(session, plan_reduction(layout_of(input), dims, types_of(input, out, op), session.device));
    return out;
}

// torch 2.13 ATen/native/cuda/ReduceMinValuesKernel.cu aminmax_allreduce_launch_kernel: pairs of values.
std::pair<Tensor, Tensor> aminmax(const Tensor& t) {
    const Tensor smallest = empty(t.session(), {}, t.dtype(), Op::min),
                 largest = empty(t.session(), {}, t.dtype(), Op::max);
    const int element = static_cast<int>(element_size(t.dtype()));
    const ReduceTypes types{.input = element, .output = element, .accumulate = 2 * element, .vector = 4};
    take_scratch(t.session(), plan_reduction(layout_of(t), all_dims(t), types, t.session().device));
    return {smallest, largest};
}

Tensor mean_last(const Tensor& t) {
    Ref<Node> node;
    if (needs_grad(t)) {
        node = mean_node(t);
        // Before torch 2.2 the formula named `self` and the whole input was saved (pytorch#109876).
        if (t.session().stack.mean_saves_its_input()) node->save(t);
    }
    Tensor out = reduce(t, 1u << (t.dim() - 1), true, t.dtype(), Op::mean);
    if (node) set_history(out, node);
    return out;
}

namespace {
// FunctionsManual.cpp std_backward, var_backward; g++ evaluates the right factor first.
void std_backward(Node& node, Grads& in, Grads& out) {
    const Tensor self = node.unpack(0), result = node.unpack(1);
    const Tensor of_variance = [&] {
        const Tensor twice = mul(result, 2);
        Tensor quotient = div(in[0], twice);
        const Tensor is_zero = compare(Op::eq, result);
        return quotient;
    }();
    const Tensor mean = reduce(self, 1u << (self.dim() - 1), true, self.dtype(), Op::mean);
    const Tensor difference = sub(self, mean);
    const Tensor scaled = mul(of_variance, 1.0);
    out[0] = mul(scaled, difference);
}
const NodeType kStdBackward{"StdBackward0", std_backward};
}  // namespace

Tensor std_last(const Tensor& t) {
    Ref<Node> node;
    if (needs_grad(t)) {
        node = make_node(t.session(), kStdBackward);
        add_edge(*node, t);
        node->save(t);
    }
    Tensor out = reduce(t, 1u << (t.dim() - 1), true, t.dtype(), Op::std);
    if (node) {
        set_history(out, node);
        node->save(out, true);
    }
    return out;
}

Tensor mean_all(const Tensor& t) {
    Ref<Node> node;
    if (needs_grad(t)) node = mean_node(t);
    Tensor out = reduce(t, all_dims(t), false, t.dtype(), Op::mean);
    if (node) set_history(out, node);
    return out;
}

// FunctionsManual.cpp linalg_vector_norm_backward of order 2: grad * (self / norm).masked_fill_(norm == 0, 0).
namespace {
void vector_norm_backward(Node& node, Grads& in, Grads& out) {
    const Tensor self = node.unpack(0);
    const Tensor norm = unsqueeze(node.unpack(1), static_cast<int>(node.ints[0]));
    const Tensor grad = unsqueeze(in[0], static_cast<int>(node.ints[0]));
    const Tensor direction = div(self, norm);
    const Tensor is_zero = pointwise_result(norm, DType::boolean, Op::eq);
    out[0] = mul(grad, direction);
}
const NodeType kVectorNormBackward{"LinalgVectorNormBackward0", vector_norm_backward};
}  // namespace

// FunctionsManual.cpp norm_backward of order 1.
namespace {
void absolute_norm_backward(Node& node, Grads& in, Grads& out) {
    const Tensor self = node.unpack(0), norm = node.unpack(1);
    out[0] = mul(pointwise_result(self, self.dtype(), Op::sgn), in[0]);
}
const NodeType kAbsoluteNormBackward{"LinalgVectorNormBackward0", absolute_norm_backward};

// ATen/native/LinearAlgebra.cpp linalg_norm, linalg_vector_norm: input and result are kept for the gradient. Autocast
// sets the result's dtype and casts nothing (autocast_mode.h fp32_set_opt_dtype).
Tensor norm_over(const Tensor& t, int dim, bool keepdim, const NodeType& type) {
    Ref<Node> node;
    if (needs_grad(t)) {
        node = make_node(t.session(), type);
        add_edge(*node, t);
        node->save(t);
        node->ints[0] = dim;
    }
    const DType dtype = t.session().autocast.enabled ? DType::float32 : t.dtype();
    Tensor out = reduce(t, 1u << dim, keepdim, dtype, Op::linalg_vector_norm);
    if (node) {
        set_history(out, node);
        node->save(out, true);
    }
    return out;
}
}  // namespace

Tensor vector_norm(const Tensor& t, int dim) { return norm_over(t, dim, false, kVectorNormBackward); }

// torch/functional.py norm.
Tensor absolute_norm_last(const Tensor& t) { return norm_over(t, t.dim() - 1, true, kAbsoluteNormBackward); }

// sum_backward: the gradient expanded.
namespace {
void sum_backward(Node& node, Grads& in, Grads& out) { out[0] = expand(in[0], node.dims[0]); }
const NodeType kSumBackward{"SumBackward0", sum_backward};
}  // namespace

Tensor sum_all(const Tensor& t) {
    Ref<Node> node;
    if (needs_grad(t)) {
        node = make_node(t.session(), kSumBackward);
        add_edge(*node, t);
        node->dims[0] = t.sizes();
    }
    const DType dtype = is_floating(t.dtype()) ? t.dtype() : DType::int64;
    Tensor out = reduce(t, all_dims(t), false, dtype, Op::sum);
    if (node) set_history(out, node);
    return out;
}

Tensor sum_dim(const Tensor& t, int dim, bool keepdim, DType dtype) {
    return reduce(t, 1u << (dim < 0 ? dim + t.dim() : dim), keepdim, dtype, Op::sum);
}

Tensor sum_to(const Tensor& t, const Dims& sizes) {
    const int leading = t.dim() - sizes.size();
    DimMask dims = 0;
    for (int i = 0; i < t.dim(); ++i)
        if (i < leading || (sizes[i - leading] == 1 && t.size(i) != 1)) dims |= 1u << i;
    Tensor out = dims ? reduce(t, dims, true, t.dtype(), Op::sum) : t;
    return leading > 0 ? view(out, sizes) : out;
}

}  // namespace vramfit::engine
