// aten::sum.dim_IntList, aten::mean.dim (torch 2.11 FunctionsManual.cpp sum_backward, mean_backward).
#include "engine/ops/sum.hpp"

#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/view.hpp"
#include "engine/session.hpp"

namespace vramfit::engine {

namespace {

/// The result's gradient for each element.
Tensor expanded(const Node& node, const Tensor& grad) {
    return expand(node.ints[1] ? grad : unsqueeze(grad, static_cast<int>(node.ints[0])), node.dims[0]);
}

void sum_dim_backward(Node& node, Grads& in, Grads& out) { out[0] = expanded(node, in[0]); }
const NodeType kSumDimBackward{"SumBackward1", sum_dim_backward};

void mean_dim_backward(Node& node, Grads& in, Grads& out) { out[0] = div(expanded(node, in[0]), 1.0); }
const NodeType kMeanDimBackward{"MeanBackward1", mean_dim_backward};

Tensor reduce_over(const Tensor& t, int dim, bool keepdim, DType dtype, Op op, const NodeType& type) {
    dim = dim < 0 ? dim + t.dim() : dim;
    Ref<Node> node;
    if (needs_grad(t)) {
        node = make_node(t.session(), type);
        add_edge(*node, t);
        node->dims[0] = t.sizes();
        node->ints[0] = dim;
        node->ints[1] = keepdim;
    }
    Tensor out = reduce(t, 1u << dim, keepdim, dtype, op);
    if (node) set_history(out, node);
    return out;
}

}  // namespace

Tensor sum_over(const Tensor& t, int dim, bool keepdim, std::optional<DType> dtype) {
    // autocast_mode.h fp32_set_opt_dtype: the kernel adds halves up into a float32 result.
    const DType own = t.session().autocast.enabled ? DType::float32 : t.dtype();
    return reduce_over(t, dim, keepdim, dtype.value_or(own), Op::sum, kSumDimBackward);
}

Tensor mean_over(const Tensor& t, int dim, bool keepdim) {
    return reduce_over(t, dim, keepdim, t.dtype(), Op::mean, kMeanDimBackward);
}

}  // namespace vramfit::engine
