// View operators and their gradients (torch 2.11 ATen/native/TensorShape.cpp, FunctionsManual.cpp).
#include "engine/ops/view.hpp"

#include <stdexcept>

#include "engine/ops/copy.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/session.hpp"

namespace vramfit::engine {

namespace {

void reshape_backward(Node& node, Grads& in, Grads& out) { out[0] = reshape(in[0], node.dims[0]); }
const NodeType kViewBackward{"ViewBackward0", reshape_backward};
const NodeType kUnsafeViewBackward{"UnsafeViewBackward0", reshape_backward};

void transpose_backward(Node& node, Grads& in, Grads& out) {
    out[0] = transpose(in[0], static_cast<int>(node.ints[0]), static_cast<int>(node.ints[1]));
}
const NodeType kTransposeBackward{"TransposeBackward0", transpose_backward, true};

void unsqueeze_backward(Node& node, Grads& in, Grads& out) {
    const int dim = static_cast<int>(node.ints[0]);
    out[0] = alias(in[0], in[0].sizes().erase(dim), in[0].strides().erase(dim));
}
const NodeType kUnsqueezeBackward{"UnsqueezeBackward0", unsqueeze_backward};

void expand_backward(Node& node, Grads& in, Grads& out) { out[0] = sum_to(in[0], node.dims[0]); }
const NodeType kExpandBackward{"ExpandBackward0", expand_backward};

// slice_backward: zeros of the input's shape, the gradient copied into them.
void slice_backward(Node& node, Grads& in, Grads& out) { out[0] = zeros(*node.session, node.dims[0], in[0].dtype()); }
const NodeType kSliceBackward{"SliceBackward0", slice_backward};
const NodeType kSelectBackward{"SelectBackward0", slice_backward};

// split_backward: the parts' gradients put together; one that is missing is zeros.
void halves_backward(Node& node, Grads& in, Grads& out) {
    Tensor parts[2];
    for (std::size_t i = 0; i < 2; ++i)
        parts[i] = in[i].defined() ? in[i] : zeros(*node.session, node.outputs[i].sizes, node.outputs[i].dtype);
    out[0] = cat(parts, -1);
}
const NodeType kHalvesBackward{"SplitBackward0", halves_backward};

// What a concatenation of many tensors knows of them; a node has room for five.
struct CatSizes : NodeState {
    std::vector<Size> sizes;
};

constexpr std::size_t kSizesInNode = 5;

// cat_tensors_backward: each input takes a narrowed view of the gradient.
void cat_backward(Node& node, Grads& in, Grads& out) {
    const int dim = static_cast<int>(node.ints[0]);
    for (std::size_t i = 0; i < out.size(); ++i) {
        if (!node.wants(i)) continue;
        Dims sizes = in[0].sizes();
        sizes[dim] = node.state ? static_cast<const CatSizes&>(*node.state).sizes[i] : node.ints[1 + i];
        out[i] = alias(in[0], sizes, in[0].strides());
    }
}
const NodeType kCatBackward{"CatBackward0", cat_backward};

Ref<Node> view_node(const Tensor& t, const NodeType& type) {
    Ref<Node> node = make_node(t.session(), type);
    add_edge(*node, t);
    node->dims[0] = t.sizes();
    return node;
}

Tensor view_with(const Tensor& t, const Dims& sizes, const Dims& strides, const NodeType& type) {
    Ref<Node> node;
    if (needs_grad(t)) node = view_node(t, type);
    Tensor out = alias(t, sizes, strides);
    if (node) set_history(out, node);
    return out;
}

int wrap(int dim, int rank) { return dim < 0 ? dim + rank : dim; }

}  // namespace

Tensor view(const Tensor& t, const Dims& target) {
    const Dims sizes = infer_size(target, t.numel());
    const auto strides = view_strides(t.sizes(), t.strides(), sizes);
    if (!strides) throw std::logic_error("view of a tensor whose strides do not allow it");
    return view_with(t, sizes, *strides, kViewBackward);
}

Tensor reshape(const Tensor& t, const Dims& target) {
    const Dims sizes = infer_size(target, t.numel());
    const auto strides = view_strides(t.sizes(), t.strides(), sizes);
    if (t.session().decide("reshape", strides.has_value())) return view_with(t, sizes, *strides, kViewBackward);
    return unsafe_view(clone_contiguous(t), sizes);
}

Tensor unsafe_view(const Tensor& t, const Dims& target) {
    const Dims sizes = infer_size(target, t.numel());
    Tensor out = view_with(t, sizes, *view_strides(t.sizes(), t.strides(), sizes), kUnsafeViewBackward);
    out->is_view = t->is_view;
    return out;
}

Tensor transpose(const Tensor& t, int a, int b) {
    a = wrap(a, t.dim());
    b = wrap(b, t.dim());
    Ref<Node> node;
    if (needs_grad(t)) {
        node = view_node(t, kTransposeBackward);
        node->ints[0] = a;
        node->ints[1] = b;
    }
    Dims sizes = t.sizes();
    Dims strides = t.strides();
    std::swap(sizes[a], sizes[b]);
    std::swap(strides[a], strides[b]);
    Tensor out = alias(t, sizes, strides);
    if (node) set_history(out, node);
    return out;
}

Tensor transpose2d(const Tensor& t) { return transpose(t, 0, 1); }

Tensor unsqueeze(const Tensor& t, int dim) {
    dim = dim < 0 ? dim + t.dim() + 1 : dim;
    Ref<Node> node;
    if (needs_grad(t)) {
        node = view_node(t, kUnsqueezeBackward);
        node->ints[0] = dim;
    }
    const Size stride = dim < t.dim() ? t.size(dim) * t.strides()[dim] : 1;
    Tensor out = alias(t, t.sizes().insert(dim, 1), t.strides().insert(dim, stride));
    if (node) set_history(out, node);
    return out;
}

Tensor expand(const Tensor& t, const Dims& target) {
    Dims sizes = target;
    const int shift = target.size() - t.dim();
    for (int i = 0; i < target.size(); ++i)
        if (sizes[i] == -1) sizes[i] = t.size(i - shift);
    Ref<Node> node;
    if (needs_grad(t)) node = view_node(t, kExpandBackward);
    Tensor out = alias(t, sizes, expand_strides(t.sizes(), t.strides(), sizes));
    if (node) set_history(out, node);
    return out;
}

Tensor slice(const Tensor& t, int dim, Size begin, Size end) {
    dim = wrap(dim, t.dim());
    Ref<Node> node;
    if (needs_grad(t)) node = view_node(t, kSliceBackward);
    Dims sizes = t.sizes();
    sizes[dim] = end - begin;
    Tensor out = alias(t, sizes, t.strides());
    if (node) set_history(out, node);
    return out;
}

Tensor slice_step(const Tensor& t, Size begin, Size step) {
    Ref<Node> node;
    if (needs_grad(t)) node = view_node(t, kSliceBackward);
    Dims sizes = t.sizes();
    Dims strides = t.strides();
    sizes[-1] = (sizes[-1] - begin + step - 1) / step;
    strides[-1] *= step;
    Tensor out = alias(t, sizes, strides);
    if (node) set_history(out, node);
    return out;
}

std::pair<Tensor, Tensor> halves(const Tensor& t) {
    Ref<Node> node;
    if (needs_grad(t)) node = view_node(t, kHalvesBackward);
    Dims sizes = t.sizes();
    sizes[-1] /= 2;
    Tensor first = alias(t, sizes, t.strides());
    Tensor second = alias(t, sizes, t.strides());
    if (node) {
        set_history(first, node);
        set_history(second, node);
    }
    return {first, second};
}

Tensor whole(const Tensor& t, int dim) {
    return t.session().stack.whole_slices_are_nodes() ? slice(t, dim, 0, t.size(dim)) : t;
}

Tensor select(const Tensor& t, int dim) {
    dim = wrap(dim, t.dim());
    Ref<Node> node;
    if (needs_grad(t)) node = view_node(t, kSelectBackward);
    Tensor out = alias(t, t.sizes().erase(dim), t.strides().erase(dim));
    if (node) set_history(out, node);
    return out;
}

Tensor cat(std::span<const Tensor> tensors, int dim) {
    const Tensor& first = tensors[0];
    dim = wrap(dim, first.dim());
    bool on_tape = false;
    DType dtype = first.dtype();
    Dims sizes = first.sizes();
    sizes[dim] = 0;
    for (const Tensor& t : tensors) {
        on_tape = on_tape || needs_grad(t);
        if (t.dtype() != dtype) dtype = result_type(first, t);
        sizes[dim] += t.size(dim);
    }
    Ref<Node> node;
    if (on_tape) {
        node = make_node(first.session(), kCatBackward);
        node->ints[0] = dim;
        for (const Tensor& t : tensors) add_edge(*node, t);
        if (tensors.size() <= kSizesInNode) {
            for (std::size_t i = 0; i < tensors.size(); ++i) node->ints[1 + i] = tensors[i].size(dim);
        } else {
            auto many = std::make_unique<CatSizes>();
            for (const Tensor& t : tensors) many->sizes.push_back(t.size(dim));
            node->state = std::move(many);
        }
    }
    Tensor out = empty(first.session(), sizes, dtype, Op::cat);
    if (node) set_history(out, node);
    return out;
}

}  // namespace vramfit::engine
