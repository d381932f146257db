// aten::clamp and aten::sigmoid (torch 2.11 tools/autograd/derivatives.yaml; FunctionsManual.cpp clamp_backward).
#include "engine/ops/clamp.hpp"

#include "engine/ops/pointwise.hpp"
#include "engine/session.hpp"

namespace vramfit::engine {

namespace {

// where(inside, grad, 0.): the number is a 0-dim tensor of the gradient's type on the device.
template <Op kIsInside>
void clamp_one_side_backward(Node& node, Grads& in, Grads& out) {
    const Tensor self = node.unpack(0);
    const Tensor zero = empty(*node.session, {}, in[0].dtype(), Op::scalar_tensor);
    const Tensor inside = compare(kIsInside, self);
    out[0] = where(inside, in[0], zero);
}
const NodeType kClampAboveBackward{"ClampBackward0", clamp_one_side_backward<Op::le>};
const NodeType kClampBelowBackward{"ClampBackward0", clamp_one_side_backward<Op::ge>};

void clamp_both_backward(Node& node, Grads& in, Grads& out) {
    const Tensor self = node.unpack(0);
    const Tensor zero = empty(*node.session, {}, in[0].dtype(), Op::scalar_tensor);
    const Tensor inside = compare(Op::ge, self);
    const Tensor below = compare(Op::le, self);  // inside.logical_and_(below)
    out[0] = where(inside, in[0], zero);
}
const NodeType kClampBothBackward{"ClampBackward0", clamp_both_backward};

void clamp_between_backward(Node& node, Grads& in, Grads& out) {
    const Tensor self = node.unpack(0), low = node.unpack(1), high = node.unpack(2);
    const Tensor zero = empty(*node.session, {}, in[0].dtype(), Op::scalar_tensor);
    const Tensor inside = compare(Op::ge, self, low);
    const Tensor below = compare(Op::le, self, high);  // inside.logical_and_(below)
    out[0] = where(inside, in[0], zero);
}
const NodeType kClampBetweenBackward{"ClampBackward0", clamp_between_backward};

void sigmoid_backward(Node& node, Grads& in, Grads& out) {
    const Tensor result = node.unpack(0);
    out[0] = pointwise_result(in[0], result, result.dtype(), Op::sigmoid_backward);
}
const NodeType kSigmoidBackward{"SigmoidBackward0", sigmoid_backward};

Tensor clamped(const Tensor& t, const NodeType& type) {
    Ref<Node> node;
    if (needs_grad(t)) {
        node = make_node(t.session(), type);
        add_edge(*node, t);
        node->save(t);
    }
    Tensor out = pointwise_result(t, t.dtype(), Op::clamp);
    if (node) set_history(out, node);
    return out;
}

}  // namespace

Tensor clamp_above(const Tensor& t) { return clamped(t, kClampAboveBackward); }
Tensor clamp_below(const Tensor& t) { return clamped(t, kClampBelowBackward); }
Tensor clamp_both(const Tensor& t) { return clamped(t, kClampBothBackward); }

Tensor clamp_between(const Tensor& t, const Tensor& low, const Tensor& high) {
    Ref<Node> node;
    if (needs_grad(t)) {
        node = make_node(t.session(), kClampBetweenBackward);
        add_edge(*node, t);
        for (const Tensor& saved : {t, low, high}) node->save(saved);
    }
    Tensor out = pointwise_result(t, low, result_type(t, low), Op::clamp);
    if (node) set_history(out, node);
    return out;
}

// torch 2.11 tools/autograd/gen_variable_type.py: an in-place operator saves a clone of what it writes over.
void clamp_both_in_place(const Tensor& t) {
    if (!needs_grad(t)) return;
    const Ref<Node> node = make_node(t.session(), kClampBothBackward);
    add_edge(*node, t);
    node->save(pointwise_result(t, t.dtype(), Op::clone));
    set_history(t, node);
}

Tensor sigmoid(const Tensor& t) {
    Ref<Node> node;
    if (needs_grad(t)) {
        node = make_node(t.session(), kSigmoidBackward);
        add_edge(*node, t);
    }
    Tensor out = pointwise_result(t, t.dtype(), Op::sigmoid);
    if (node) {
        set_history(out, node);
        node->save(out, true);
    }
    return out;
}

}  // namespace vramfit::engine
