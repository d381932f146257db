// aten::split (torch 2.11 ATen/native/TensorShape.cpp, FunctionsManual.cpp split_backward).
#include "engine/ops/split.hpp"

#include "engine/ops/copy.hpp"
#include "engine/ops/shape.hpp"
#include "engine/ops/view.hpp"
#include "engine/session.hpp"

namespace vramfit::engine {

namespace {

// split_with_sizes_backward: parts without a gradient become zeros, then one concatenation.
void split_backward(Node& node, Grads& in, Grads& out) {
    const int dim = static_cast<int>(node.ints[0]);
    Dims sizes = node.dims[0];
    sizes[dim] /= static_cast<Size>(in.size());
    DType dtype = DType::float32;
    for (const Tensor& grad : in)
        if (grad.defined()) dtype = grad.dtype();
    std::vector<Tensor> parts;
    for (const Tensor& grad : in) parts.push_back(grad.defined() ? grad : zeros(*node.session, sizes, dtype));
    out[0] = cat(parts, dim);
}
const NodeType kSplitBackward{"SplitBackward0", split_backward};

// The same where parts differ: those without a gradient are zeros of their own size.
void split_with_sizes_backward(Node& node, Grads& in, Grads& out) {
    DType dtype = DType::float32;
    for (const Tensor& grad : in)
        if (grad.defined()) dtype = grad.dtype();
    std::vector<Tensor> parts;
    for (std::size_t i = 0; i < in.size(); ++i)
        parts.push_back(in[i].defined() ? in[i] : zeros(*node.session, node.outputs[i].sizes, dtype));
    out[0] = cat(parts, static_cast<int>(node.ints[0]));
}
const NodeType kSplitWithSizesBackward{"SplitWithSizesBackward0", split_with_sizes_backward};

// unbind_backward: the parts' gradients stacked, zeros where there is none.
void unbind_backward(Node& node, Grads& in, Grads& out) {
    DType dtype = DType::float32;
    for (const Tensor& grad : in)
        if (grad.defined()) dtype = grad.dtype();
    std::vector<Tensor> parts;
    for (const Tensor& grad : in) parts.push_back(grad.defined() ? grad : zeros(*node.session, node.dims[0], dtype));
    out[0] = stack(parts, 0);
}
const NodeType kUnbindBackward{"UnbindBackward0", unbind_backward};

void alias_backward(Node&, Grads& in, Grads& out) { out[0] = in[0]; }
const NodeType kAliasBackward{"AliasBackward0", alias_backward};

}  // namespace

std::vector<Tensor> chunk(const Tensor& t, int parts, int dim) {
    dim = dim < 0 ? dim + t.dim() : dim;
    Dims sizes = t.sizes();
    sizes[dim] /= parts;
    Ref<Node> node;
    if (needs_grad(t)) {
        node = make_node(t.session(), kSplitBackward);
        add_edge(*node, t);
        node->dims[0] = t.sizes();
        node->ints[0] = dim;
    }
    std::vector<Tensor> out;
    for (int i = 0; i < parts; ++i) {
        out.push_back(alias(t, sizes, t.strides()));
        if (node) set_history(out.back(), node);
    }
    return out;
}

std::vector<Tensor> split_with_sizes(const Tensor& t, const std::vector<Size>& sizes, int dim) {
    Ref<Node> node;
    if (needs_grad(t)) {
        node = make_node(t.session(), kSplitWithSizesBackward);
        add_edge(*node, t);
        node->ints[0] = dim;
    }
    std::vector<Tensor> out;
    for (const Size& size : sizes) {
        Dims part = t.sizes();
        part[dim] = size;
        out.push_back(alias(t, part, t.strides()));
        if (node) set_history(out.back(), node);
    }
    return out;
}

std::vector<Tensor> unbind(const Tensor& t) {
    const std::int64_t count = t.session().decide("parts of a loop over a tensor", t.size(0));
    const Dims sizes = t.sizes().erase(0), strides = t.strides().erase(0);
    Ref<Node> node;
    if (needs_grad(t)) {
        node = make_node(t.session(), kUnbindBackward);
        add_edge(*node, t);
        node->dims[0] = sizes;
    }
    std::vector<Tensor> out;
    for (std::int64_t i = 0; i < count; ++i) {
        out.push_back(alias(t, sizes, strides));
        if (node) set_history(out.back(), node);
    }
    return out;
}

// torch/csrc/autograd/python_variable_indexing.cpp THPVariable_getitem: a subscript that changes nothing is an alias.
Tensor last_places(const Tensor& t, Size begin, Size end) {
    if (begin > 0 || end < t.size(-1)) return slice(t, -1, begin, end);
    Ref<Node> node;
    if (needs_grad(t)) {
        node = make_node(t.session(), kAliasBackward);
        add_edge(*node, t);
    }
    Tensor out = alias(t, t.sizes(), t.strides());
    if (node) set_history(out, node);
    return out;
}

}  // namespace vramfit::engine
