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
    const Size begin = node.ints[2];
    out[0] = clone(slice(in[0], dim, begin, begin + in[0].size(dim) - node.ints[0]));
}
const NodeType kPadBackward{"ConstantPadNdBackward0", pad_backward};

/// `strides`: empty for a dense result. `begin`: so many of the places are in front.
Tensor padded(const Tensor& t, int dim, Size places, Size begin, const Dims& strides = {}) {
    Ref<Node> node;
    if (needs_grad(t)) {
        node = make_node(t.session(), kPadBackward);
        add_edge(*node, t);
        node->ints[0] = places;
        node->ints[1] = dim;
        node->ints[2] = begin;
    }
    Dims sizes = t.sizes();
    sizes[dim] += places;
    Tensor out = strides.size() == 0 ? empty(t.session(), sizes, t.dtype(), Op::constant_pad_nd)
                                     : empty_strided(t.session(), sizes, strides, t.dtype(), Op::clone);
    if (node) set_history(out, node);
    return out;
}

/// c10/core/MemoryFormat.h is_channels_last_strides_2d_s4: rows that were transposed, in heads, look like an image.
bool like_an_image(const Tensor& t) {
    if (t.dim() != 4) return false;
    return t.session().decide("channels last", [&] {
        Size least = 0;
        for (const int d : {1, 3, 2, 0}) {
            if (t.strides()[d] < least || (d == 0 && least == t.strides()[1])) return false;
            least = t.strides()[d];
            if (t.size(d) > 1) least *= t.size(d);
        }
        return true;
    }());
}

/// PadNd.cpp: the result has the input's memory format.
Dims image_strides(Dims sizes, int dim, Size places) {
    sizes[dim] += places;
    return {sizes[1] * sizes[2] * sizes[3], 1, sizes[1] * sizes[3], sizes[1]};
}

/// The same operator the other way round.
void shift_backward(Node& node, Grads& in, Grads& out) {
    out[0] = empty(*node.session, in[0].sizes(), in[0].dtype(), Op::constant_pad_nd);
}
const NodeType kShiftBackward{"ConstantPadNdBackward0", shift_backward};

}  // namespace

// PadNd.cpp: what is left of the input is narrowed and copied into the result.
Tensor pad_shifted(const Tensor& t) {
    Ref<Node> node;
    if (needs_grad(t)) {
        node = make_node(t.session(), kShiftBackward);
        add_edge(*node, t);
    }
    Tensor out = empty(t.session(), t.sizes(), t.dtype(), Op::constant_pad_nd);
    if (node) set_history(out, node);
    return out;
}

Tensor pad_end(const Tensor& t, Size places) { return padded(t, t.dim() - 1, places, 0); }

// PadNd.cpp: where nothing is added, the input is cloned with its strides.
Tensor pad_end_of(const Tensor& t, int dim, Size places) {
    dim = dim < 0 ? dim + t.dim() : dim;
    const bool none = t.session().decide("padding of nothing", places <= 0);
    if (none) return padded(t, dim, places, 0, preserved_strides(t.sizes(), t.strides()));
    return padded(t, dim, places, 0, like_an_image(t) ? image_strides(t.sizes(), dim, places) : Dims());
}

Tensor pad_front_of(const Tensor& t, int dim, Size places) {
    return padded(t, dim < 0 ? dim + t.dim() : dim, places, places);
}

}  // namespace vramfit::engine
