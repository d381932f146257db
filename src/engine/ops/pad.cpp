// aten::constant_pad_nd (torch 2.11 ATen/native/PadNd.cpp; FunctionsManual.cpp constant_pad_nd_backward).
#include "engine/ops/pad.hpp"

#include "engine/ops/copy.hpp"
#include "engine/ops/view.hpp"
#include "engine/session.hpp"

namespace vramfit::engine {

namespace {

// The same operator with negative padding: a narrowed view, cloned.
void pad_backward(Node& node, Grads& in, Grads& out) {
    const int dim = static_cast<int>(node.ints[1]);
    out[0] = clone(slice(in[0], dim, 0, in[0].size(dim) - node.ints[0]));
}
const NodeType kPadBackward{"ConstantPadNdBackward0", pad_backward};

/// `strides`: empty for a dense result.
Tensor padded(const Tensor& t, int dim, Size places, const Dims& strides = {}) {
    Ref<Node> node;
    if (needs_grad(t)) {
        node = make_node(t.session(), kPadBackward);
        add_edge(*node, t);
        node->ints[0] = places;
        node->ints[1] = dim;
    }
    Dims sizes = t.sizes();
    sizes[dim] += places;
    Tensor out = strides.size() == 0 ? empty(t.session(), sizes, t.dtype(), Op::constant_pad_nd)
                                     : empty_strided(t.session(), sizes, strides, t.dtype(), Op::clone);
    if (node) set_history(out, node);
    return out;
}

}  // namespace

Tensor pad_end(const Tensor& t, Size places) { return padded(t, t.dim() - 1, places); }

// PadNd.cpp: where nothing is added, the input is cloned with its strides.
Tensor pad_end_of(const Tensor& t, int dim, Size places) {
    dim = dim < 0 ? dim + t.dim() : dim;
    const bool none = t.session().decide("padding of nothing", places <= 0);
    return padded(t, dim, places, none ? preserved_strides(t.sizes(), t.strides()) : Dims());
}

}  // namespace vramfit::engine
