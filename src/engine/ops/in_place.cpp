// In-place operators (torch 2.11 tools/autograd/gen_variable_type.py: what a formula needs of `self` is cloned first).
#include "engine/ops/in_place.hpp"

#include "engine/ops/copy.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/pointwise_backward.hpp"
#include "engine/ops/view.hpp"
#include "engine/session.hpp"

namespace vramfit::engine {

namespace {

// torch/csrc/autograd/functions/tensor.cpp CopySlices::apply behind the view's AsStridedBackward0: the gradient in the
// view's geometry, which is given back, and in the base's.
Tensor copy_slices(Node& node, Grads& in, Grads& out) {
    Session& session = *node.session;
    Tensor strided = empty(session, in[0].sizes(), in[0].dtype(), Op::new_empty);
    in[0].reset();
    out[0] = empty(session, node.dims[0], strided.dtype(), Op::new_empty);
    return strided;
}

// The function inside is given a clone, of which index_put makes its own.
void filled_view_backward(Node& node, Grads& in, Grads& out) {
    const Tensor mask = node.unpack(0);
    const Tensor strided = copy_slices(node, in, out);
    const Tensor filled = [&] {
        const Tensor copy = clone(strided);
        return clone(copy);
    }();
}
const NodeType kFilledViewBackward{"CopySlices", filled_view_backward};

// The same of a product.
void scaled_view_backward(Node& node, Grads& in, Grads& out) {
    const Tensor other = node.unpack(0);
    const Tensor strided = copy_slices(node, in, out);
    const Tensor part = clone(strided);
    const Tensor scaled = mul(part, other);
}
const NodeType kScaledViewBackward{"CopySlices", scaled_view_backward};

// The same of a part of the base that is divided by a number: its gradient comes in the base's geometry.
void divided_part_backward(Node& node, Grads& in, Grads& out) {
    Session& session = *node.session;
    const Tensor strided = empty(session, node.dims[0], in[0].dtype(), Op::new_empty);
    const Dims part = in[0].sizes();
    in[0].reset();
    out[0] = empty(session, node.dims[0], strided.dtype(), Op::new_empty);
    const Tensor copy = empty(session, part, strided.dtype(), Op::empty_like);
    const Tensor divided = div(copy, 1.0);
}
const NodeType kDividedPartBackward{"CopySlices", divided_part_backward};

/// The node of a view that has all of its base.
bool is_whole_view(const Tensor& t) {
    const Ref<Node>& node = t->grad_fn;
    return t->is_view && node && node->next.size() == 1 && node->next[0].valid() && node->outputs.size() == 1 &&
           same(numel_of(node->dims[0]), t.numel());
}

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

// torch/csrc/autograd/variable.cpp rebase_history: of a view the base's history becomes the product inside of
// CopySlices.
void mul_in_place(const Tensor& a, const Tensor& b) {
    Recorder& recorder = a.session().recorder;
    recorder.launch(recorder.stream);
    if (!needs_grad(a, b)) return;
    const bool of_view = !b.requires_grad() && is_whole_view(a);
    const Ref<Node> node = make_node(a.session(), of_view ? kScaledViewBackward : kMulBackward);
    if (of_view) {
        node->next.push_back(a->grad_fn->next[0]);
        node->dims[0] = a->grad_fn->dims[0];
    } else {
        add_edge(*node, a);
        add_edge(*node, b);
        node->save(b.requires_grad() ? clone(detach(a)) : Tensor());
    }
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

Tensor div_slice_in_place(const Tensor& a, int dim, const Size& first, const Size& last) {
    Recorder& recorder = a.session().recorder;
    recorder.launch(recorder.stream);
    const Tensor part = slice(detach(a), dim, first, last);
    if (!needs_grad(a)) return part;
    const Ref<Node> node = make_node(a.session(), kDividedPartBackward);
    add_edge(*node, a);
    node->dims[0] = a.sizes();
    set_history(part, node);
    return part;
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
