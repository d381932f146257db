// In-place operators (torch 2.11 tools/autograd/gen_variable_type.py: what a formula needs of `self` is cloned first).
#include "engine/ops/in_place.hpp"

#include "engine/ops/copy.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/pointwise_backward.hpp"
#include "engine/session.hpp"

namespace vramfit::engine {

namespace {

// torch/csrc/autograd/functions/tensor.cpp CopySlices::apply behind the view's AsStridedBackward0: the gradient in the
// view's geometry, in the base's, and a clone of that for index_put, which makes its own.
void filled_view_backward(Node& node, Grads& in, Grads& out) {
    Session& session = *node.session;
    const Tensor mask = node.unpack(0);
    const DType dtype = in[0].dtype();
    const Tensor strided = empty(session, in[0].sizes(), dtype, Op::new_empty);
    in[0].reset();
    out[0] = empty(session, node.dims[0], dtype, Op::new_empty);
    const Tensor filled = [&] {
        const Tensor copy = empty(session, strided.sizes(), dtype, Op::clone);
        return empty(session, strided.sizes(), dtype, Op::clone);
    }();
}
const NodeType kFilledViewBackward{"CopySlices", filled_view_backward};

}  // namespace

void add_in_place(const Tensor& a, const Tensor& b) {
    if (!needs_grad(a, b)) return;
    const Ref<Node> node = make_node(a.session(), kAddBackward);
    add_edge(*node, a);
    add_edge(*node, b);
    set_history(a, node);
}

void add_in_place(const Tensor& a) {
    if (!needs_grad(a)) return;
    const Ref<Node> node = make_node(a.session(), kPassBackward);
    add_edge(*node, a);
    set_history(a, node);
}

void mul_in_place(const Tensor& a, const Tensor& b) {
    if (!needs_grad(a, b)) return;
    const Ref<Node> node = make_node(a.session(), kMulBackward);
    add_edge(*node, a);
    add_edge(*node, b);
    node->save(b.requires_grad() ? clone(detach(a)) : Tensor());
    node->save(a.requires_grad() ? b : Tensor());
    set_history(a, node);
}

void div_in_place(const Tensor& a, const Tensor& b) {
    if (!needs_grad(a, b)) return;
    const Ref<Node> node = make_node(a.session(), kDivBackward);
    add_edge(*node, a);
    add_edge(*node, b);
    node->save(b.requires_grad() ? clone(detach(a)) : Tensor());
    node->save(b);
    set_history(a, node);
}

void masked_fill_in_place(const Tensor& a, const Tensor& mask) {
    if (!needs_grad(a)) return;
    const Ref<Node> node = make_node(a.session(), kMaskedFillBackward);
    add_edge(*node, a);
    node->save(mask);
    set_history(a, node);
}

Tensor fill_squeezed(const Tensor& t, const Tensor& mask) {
    const int last = t.dim() - 1;
    Ref<Node> node;
    if (needs_grad(t)) {
        node = make_node(t.session(), kFilledViewBackward);
        add_edge(*node, t);
        node->save(mask);
        node->dims[0] = t.sizes();
    }
    Tensor view = alias(t, t.sizes().erase(last), t.strides().erase(last));
    if (node) set_history(view, node);
    return view;
}

}  // namespace vramfit::engine
