// aten::native_dropout (torch 2.11 ATen/native/Dropout.cpp, cuda/Dropout.cu).
#include "engine/ops/dropout.hpp"

#include "engine/ops/pointwise.hpp"
#include "engine/session.hpp"

namespace vramfit::engine {

namespace {

// native_dropout_backward: grad * mask * scale in one kernel.
void dropout_backward(Node& node, Grads& in, Grads& out) {
    const Tensor mask = node.unpack(0);
    out[0] = pointwise_result(in[0], mask, in[0].dtype(), Op::native_dropout_backward);
}
const NodeType kDropoutBackward{"NativeDropoutBackward0", dropout_backward};

}  // namespace

Tensor dropout(const Tensor& t, double p) {
    if (p == 0.0 || !t.session().training) return t;
    Ref<Node> node;
    if (needs_grad(t)) {
        node = make_node(t.session(), kDropoutBackward);
        add_edge(*node, t);
    }
    const Dims strides = preserved_strides(t.sizes(), t.strides());
    const Tensor mask = empty_strided(t.session(), t.sizes(), strides, DType::boolean, Op::native_dropout);
    Tensor out = empty_strided(t.session(), t.sizes(), strides, t.dtype(), Op::native_dropout);
    if (node) {
        set_history(out, node);
        node->save(mask, true);
    }
    return out;
}

}  // namespace vramfit::engine
