// aten::where and aten::minimum (torch 2.11 tools/autograd/derivatives.yaml).
#include "engine/ops/pointwise.hpp"
#include "engine/session.hpp"

namespace vramfit::engine {

namespace {

Tensor chosen(const Tensor& condition, const Tensor& a, const Tensor& b) {
    const Layout layouts[3] = {layout_of(condition), layout_of(a), layout_of(b)};
    const Dims sizes = broadcast_sizes(condition.sizes(), broadcast_sizes(a.sizes(), b.sizes()));
    return empty_strided(condition.session(), sizes, pointwise_strides(sizes, layouts), result_type(a, b), Op::where);
}

// where(condition, grad, 0) and where(condition, 0, grad): the number is a 0-dim tensor of the gradient's type on the
// device (ATen/native/TensorCompare.cpp where).
void where_backward(Node& node, Grads& in, Grads& out) {
    const Tensor condition = node.unpack(0);
    for (const std::size_t i : {std::size_t{1}, std::size_t{0}}) {
        if (!node.wants(i)) continue;
        const Tensor zero = empty(*node.session, {}, in[0].dtype(), Op::scalar_tensor);
        out[i] = chosen(condition, in[0], zero);
    }
}
const NodeType kWhereBackward{"WhereBackward0", where_backward};

// where(self == other, grad / 2, grad).masked_fill_(self > other, 0), and the other way round; what an expression makes
// lives to its end.
void minimum_backward(Node& node, Grads& in, Grads& out) {
    const Tensor self = node.unpack(0);
    const Tensor other = node.unpack(1);
    for (const std::size_t i : {std::size_t{1}, std::size_t{0}}) {
        if (!node.wants(i)) continue;
        const Tensor half = div(in[0], 2);
        const Tensor equal = compare(Op::eq, self, other);
        const Tensor gradient = chosen(equal, half, in[0]);
        const Tensor larger = compare(i == 0 ? Op::gt : Op::lt, self, other);
        out[i] = gradient;
    }
}
const NodeType kMinimumBackward{"MinimumBackward0", minimum_backward};
const NodeType kMaximumBackward{"MaximumBackward0", minimum_backward};  // with < and > exchanged

Ref<Node> node_of_two(const Tensor& a, const Tensor& b, const NodeType& type) {
    Ref<Node> node = make_node(a.session(), type);
    add_edge(*node, a);
    add_edge(*node, b);
    return node;
}

Tensor extreme(const Tensor& a, const Tensor& b, const NodeType& type, Op op) {
    Ref<Node> node;
    if (needs_grad(a, b)) {
        node = node_of_two(a, b, type);
        node->save(a);
        node->save(b);
    }
    Tensor out = pointwise_result(a, b, result_type(a, b), op);
    if (node) set_history(out, node);
    return out;
}

}  // namespace

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
    Ref<Node> node;
    if (needs_grad(a, b)) {
        node = node_of_two(a, b, kWhereBackward);
        node->save(condition);
    }
    Tensor out = chosen(condition, a, b);
    if (node) set_history(out, node);
    return out;
}

Tensor minimum(const Tensor& a, const Tensor& b) { return extreme(a, b, kMinimumBackward, Op::minimum); }
Tensor maximum(const Tensor& a, const Tensor& b) { return extreme(a, b, kMaximumBackward, Op::maximum); }

}  // namespace vramfit::engine
