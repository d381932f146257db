// aten::sum.dim_IntList (torch 2.11 FunctionsManual.cpp sum_backward).
#include "engine/ops/sum.hpp"

#include "engine/ops/reduce.hpp"
#include "engine/ops/view.hpp"
#include "engine/session.hpp"

namespace vramfit::engine {

namespace {

void sum_dim_backward(Node& node, Grads& in, Grads& out) {
    const int dim = static_cast<int>(node.ints[0]);
    out[0] = expand(node.ints[1] ? in[0] : unsqueeze(in[0], dim), node.dims[0]);
}
const NodeType kSumDimBackward{"SumBackward1", sum_dim_backward};

}  // namespace

Tensor sum_over(const Tensor& t, int dim, bool keepdim, std::optional<DType> dtype) {
    dim = dim < 0 ? dim + t.dim() : dim;
    Ref<Node> node;
    if (needs_grad(t)) {
        node = make_node(t.session(), kSumDimBackward);
        add_edge(*node, t);
        node->dims[0] = t.sizes();
        node->ints[0] = dim;
        node->ints[1] = keepdim;
    }
    // autocast_mode.h fp32_set_opt_dtype: the kernel adds halves up into a float32 result.
    const DType own = t.session().autocast.enabled ? DType::float32 : t.dtype();
    Tensor out = reduce(t, 1u << dim, keepdim, dtype.value_or(own), Op::sum);
    if (node) set_history(out, node);
    return out;
}

}  // namespace vramfit::engine
