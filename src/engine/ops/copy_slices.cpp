// Copies into views and sums (torch 2.11 torch/csrc/autograd/functions/tensor.cpp CopySlices, CopyBackwards).
#include "engine/ops/copy_slices.hpp"

#include "engine/ops/copy.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/session.hpp"

namespace vramfit::engine {

namespace {

/// The node of what is written into `part`, which becomes the base's history.
void write_into(const NodeType& type, const Tensor& base, const Tensor& part, const Tensor& source) {
    const Ref<Node> node = make_node(base.session(), type);
    add_edge(*node, base);
    add_edge(*node, source);
    node->dims[0] = base.strides();
    node->dims[1] = part.sizes();
    node->dims[2] = part.strides();
    node->dtypes[0] = source.dtype();
    set_history(base, node);
}

/// CopySlices::apply: the gradient of the whole is copied.
Tensor whole_gradient(const Node& node, const Tensor& grad) {
    return empty_strided(*node.session, node.outputs[0].sizes, node.dims[0], grad.dtype(), Op::empty);
}

// The part of it is cloned for CopyBackwards: zeros for what the part was before, the clone in the source's type for
// the source.
void copy_slices_backward(Node& node, Grads& in, Grads& out) {
    const Tensor whole = whole_gradient(node, in[0]);
    const Tensor part = clone(alias(whole, node.dims[1], node.dims[2]));
    Tensor before;
    if (node.wants(0)) before = pointwise_result(part, part.dtype(), Op::zeros_like);
    if (node.wants(1)) out[1] = to(part, node.dtypes[0]);
    if (node.wants(0)) out[0] = whole;
}
const NodeType kCopySlices{"CopySlices", copy_slices_backward};

// The function inside is AddBackward0, which gives what it is given.
void sum_in_view_backward(Node& node, Grads& in, Grads& out) {
    const Tensor whole = whole_gradient(node, in[0]);
    const Tensor part = clone_contiguous(alias(whole, node.dims[1], node.dims[2]));
    if (node.wants(1)) out[1] = part;
    if (node.wants(0)) out[0] = whole;
}
const NodeType kSumInView{"CopySlices", sum_in_view_backward};

// FunctionsManual.cpp as_strided_backward: zeros for the whole, into which the view's gradient is copied.
void as_strided_backward(Node& node, Grads& in, Grads& out) {
    out[0] = empty_strided(*node.session, node.dims[0], node.dims[1], in[0].dtype(), Op::new_empty);
}
const NodeType kAsStridedBackward{"AsStridedBackward0", as_strided_backward};

/// torch/csrc/autograd/variable.cpp VariableHooks::grad_fn: what a view was made by is forgotten once its base has
/// another history.
void follow_base(const Tensor& part, const Tensor& base) {
    const Ref<Node> node = make_node(base.session(), kAsStridedBackward);
    add_edge(*node, base);
    node->dims[0] = base.sizes();
    node->dims[1] = base.strides();
    set_history(part, node);
}

}  // namespace

void copy_into_slice(const Tensor& base, const Tensor& part, const Tensor& source) {
    if (needs_grad(base, source)) write_into(kCopySlices, base, part, source);
}

void add_into_view(const Tensor& base, const Tensor& part, const Tensor& other) {
    if (!needs_grad(base, other)) return;
    write_into(kSumInView, base, part, other);
    follow_base(part, base);
}

}  // namespace vramfit::engine
