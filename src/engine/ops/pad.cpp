// aten::constant_pad_nd (torch 2.11 ATen/native/PadNd.cpp; FunctionsManual.cpp constant_pad_nd_backward).
#include "engine/ops/pad.hpp"

#include "engine/ops/copy.hpp"
#include "engine/ops/view.hpp"
#include "engine/session.hpp"

namespace vramfit::engine {

namespace {

// The same operator with negative padding: a narrowed view, cloned.
void pad_backward(Node& node, Grads& in, Grads& out) {
    out[0] = clone(slice(in[0], -1, 0, in[0].size(-1) - node.ints[0]));
}
const NodeType kPadBackward{"ConstantPadNdBackward0", pad_backward};

}  // namespace

Tensor pad_end(const Tensor& t, Size places) {
    Ref<Node> node;
    if (needs_grad(t)) {
        node = make_node(t.session(), kPadBackward);
        add_edge(*node, t);
        node->ints[0] = places;
    }
    Dims sizes = t.sizes();
    sizes[-1] += places;
    Tensor out = empty(t.session(), sizes, t.dtype(), Op::constant_pad_nd);
    if (node) set_history(out, node);
    return out;
}

}  // namespace vramfit::engine
