// aten::squeeze.dim, permute and stack (torch 2.11 ATen/native/TensorShape.cpp; FunctionsManual.cpp unsqueeze_to,
// permute_backwards, stack_tensors_backward).
#include "engine/ops/shape.hpp"

#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/view.hpp"
#include "engine/session.hpp"

namespace vramfit::engine {

namespace {

void squeeze_backward(Node& node, Grads& in, Grads& out) {
    const int dim = static_cast<int>(node.ints[0]);
    if (node.ints[1] == 0) {
        out[0] = in[0];
        return;
    }
    out[0] = alias(in[0], in[0].sizes().insert(dim, 1), in[0].strides().insert(dim, 1));
}
const NodeType kSqueezeBackward{"SqueezeBackward1", squeeze_backward};

void permute_backward(Node& node, Grads& in, Grads& out) {
    Dims sizes = in[0].sizes(), strides = in[0].strides();
    for (int i = 0; i < in[0].dim(); ++i) {
        const int from = static_cast<int>(node.ints[i]);
        sizes[from] = in[0].size(i);
        strides[from] = in[0].strides()[i];
    }
    out[0] = alias(in[0], sizes, strides);
}
const NodeType kPermuteBackward{"PermuteBackward0", permute_backward};

// grad.unbind(dim): a view for each input.
void stack_backward(Node& node, Grads& in, Grads& out) {
    const int dim = static_cast<int>(node.ints[0]);
    for (std::size_t i = 0; i < out.size(); ++i)
        if (node.wants(i)) out[i] = alias(in[0], in[0].sizes().erase(dim), in[0].strides().erase(dim));
}
const NodeType kStackBackward{"StackBackward0", stack_backward};

// repeat_backward: the gradient in so many parts, added up; they are a dimension of their own where it was put in
// front.
void repeat_before_backward(Node&, Grads& in, Grads& out) { out[0] = sum_dim(in[0], 0, false, in[0].dtype()); }
const NodeType kRepeatBeforeBackward{"RepeatBackward0", repeat_before_backward};

void repeat_backward(Node& node, Grads& in, Grads& out) {
    const int dim = static_cast<int>(node.ints[1]);
    const Tensor parts = reshape(in[0], node.dims[0].insert(dim, node.ints[0]));
    out[0] = sum_dim(parts, dim, false, in[0].dtype());
}
const NodeType kRepeatBackward{"RepeatBackward0", repeat_backward};

}  // namespace

Tensor squeeze(const Tensor& t, int dim) {
    dim = dim < 0 ? dim + t.dim() : dim;
    const bool drops = t.session().decide("squeeze", t.size(dim) == 1);
    Ref<Node> node;
    if (needs_grad(t)) {
        node = make_node(t.session(), kSqueezeBackward);
        add_edge(*node, t);
        node->ints[0] = dim;
        node->ints[1] = drops ? 1 : 0;
    }
    Tensor out = drops ? alias(t, t.sizes().erase(dim), t.strides().erase(dim)) : alias(t, t.sizes(), t.strides());
    if (node) set_history(out, node);
    return out;
}

Tensor permute(const Tensor& t, std::span<const int> order) {
    Ref<Node> node;
    if (needs_grad(t)) {
        node = make_node(t.session(), kPermuteBackward);
        add_edge(*node, t);
    }
    Dims sizes = t.sizes(), strides = t.strides();
    for (int i = 0; i < t.dim(); ++i) {
        const int from = order[static_cast<std::size_t>(i)];
        sizes[i] = t.size(from);
        strides[i] = t.strides()[from];
        if (node) node->ints[i] = from;
    }
    Tensor out = alias(t, sizes, strides);
    if (node) set_history(out, node);
    return out;
}

Tensor repeat_along(const Tensor& t, int dim, Size times) {
    Ref<Node> node;
    if (needs_grad(t)) {
        node = make_node(t.session(), kRepeatBackward);
        add_edge(*node, t);
        node->dims[0] = t.sizes();
        node->ints[0] = times;
        node->ints[1] = dim;
    }
    Dims sizes = t.sizes();
    sizes[dim] *= times;
    Tensor out = empty(t.session(), sizes, t.dtype(), Op::repeat);
    if (node) set_history(out, node);
    return out;
}

Tensor repeat_before(const Tensor& t, Size times) {
    Ref<Node> node;
    if (needs_grad(t)) {
        node = make_node(t.session(), kRepeatBeforeBackward);
        add_edge(*node, t);
    }
    Tensor out = empty(t.session(), t.sizes().insert(0, times), t.dtype(), Op::repeat);
    if (node) set_history(out, node);
    return out;
}

Tensor stack(std::span<const Tensor> tensors, int dim) {
    const Tensor& first = tensors[0];
    dim = dim < 0 ? dim + first.dim() + 1 : dim;
    bool on_tape = false;
    DType dtype = first.dtype();
    for (const Tensor& t : tensors) {
        on_tape = on_tape || needs_grad(t);
        if (t.dtype() != dtype) dtype = result_type(first, t);
    }
    Ref<Node> node;
    if (on_tape) {
        node = make_node(first.session(), kStackBackward);
        node->ints[0] = dim;
        for (const Tensor& t : tensors) add_edge(*node, t);
    }
    const Dims sizes = first.sizes().insert(dim, static_cast<std::int64_t>(tensors.size()));
    Tensor out = empty(first.session(), sizes, dtype, Op::cat);
    if (node) set_history(out, node);
    return out;
}

}  // namespace vramfit::engine
