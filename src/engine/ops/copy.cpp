// Copies and factories (torch 2.11 ATen/native/TensorConversions.cpp, TensorFactories.cpp).
#include "engine/ops/copy.hpp"

#include <utility>

#include "engine/session.hpp"

namespace vramfit::engine {

namespace {

void to_copy_backward(Node& node, Grads& in, Grads& out) { out[0] = to(in[0], node.dtypes[0]); }
const NodeType kToCopyBackward{"ToCopyBackward0", to_copy_backward, true};

/// torch 2.11 distributed/tensor/_sharding_prop.py _propagate_tensor_meta_non_cached casts a fake tensor to the card's
/// to learn its layout, once; the first such tensor of a process makes an element on the card
/// (_subclasses/fake_tensor.py init_gpu_context).
void to_copy_of_pieces_backward(Node& node, Grads& in, Grads& out) {
    if (!std::exchange(node.session->pieces_were_cast, true)) {
        const Tensor element = empty(*node.session, {1}, DType::float32, Op::empty);
    }
    to_copy_backward(node, in, out);
}
const NodeType kToCopyOfPiecesBackward{"ToCopyBackward0", to_copy_of_pieces_backward, true};

void clone_backward(Node&, Grads& in, Grads& out) { out[0] = in[0]; }
const NodeType kCloneBackward{"CloneBackward0", clone_backward};

Tensor clone_with(const Tensor& t, const Dims& strides) {
    Ref<Node> node;
    if (needs_grad(t)) {
        node = make_node(t.session(), kCloneBackward);
        add_edge(*node, t);
    }
    Tensor out = empty_strided(t.session(), t.sizes(), strides, t.dtype(), Op::clone);
    if (node) set_history(out, node);
    return out;
}

/// Another dtype, which it is.
Tensor cast_with(const Tensor& t, DType dtype, const Dims& strides) {
    Ref<Node> node;
    if (is_floating(dtype) && needs_grad(t)) {
        node = make_node(t.session(), t.session().casts_pieces ? kToCopyOfPiecesBackward : kToCopyBackward);
        add_edge(*node, t);
        node->dtypes[0] = t.dtype();
    }
    Tensor out = empty_strided(t.session(), t.sizes(), strides, dtype, Op::to_copy);
    if (node) set_history(out, node);
    return out;
}

}  // namespace

Tensor to(const Tensor& t, DType dtype) {
    return t.dtype() == dtype ? t : cast_with(t, dtype, preserved_strides(t.sizes(), t.strides()));
}

// TensorConversions.cpp to_will_alias: Tensor.suggest_memory_format() says contiguous whatever the strides are, but for
// images.
Tensor to_contiguous(const Tensor& t, DType dtype) {
    return t.dtype() == dtype ? t : cast_with(t, dtype, contiguous_strides(t.sizes()));
}

Tensor to_device(const Tensor& host) {
    return empty_strided(host.session(), host.sizes(), host.strides(), host.dtype(), Op::to_copy);
}

Tensor clone(const Tensor& t) { return clone_with(t, preserved_strides(t.sizes(), t.strides())); }

Tensor clone_contiguous(const Tensor& t) { return clone_with(t, contiguous_strides(t.sizes())); }

Tensor contiguous(const Tensor& t) { return t.is_contiguous() ? t : clone_contiguous(t); }

Tensor clone_as(const Tensor& t, const Tensor& model) {
    const bool dense = is_non_overlapping_and_dense(model.sizes(), model.strides());
    return empty_strided(t.session(), t.sizes(), dense ? model.strides() : contiguous_strides(t.sizes()), t.dtype(),
                         Op::clone);
}

Tensor zeros(Session& session, const Dims& sizes, DType dtype) { return empty(session, sizes, dtype, Op::zeros); }

Tensor zeros_like(const Tensor& t) {
    return empty_strided(t.session(), t.sizes(), preserved_strides(t.sizes(), t.strides()), t.dtype(), Op::zeros_like);
}

Tensor ones_like(const Tensor& t) {
    return empty_strided(t.session(), t.sizes(), preserved_strides(t.sizes(), t.strides()), t.dtype(), Op::ones_like);
}

Tensor arange(Session& session, Size n, DType dtype) { return empty(session, {n}, dtype, Op::arange); }

}  // namespace vramfit::engine
