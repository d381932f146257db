// aten::polar, view_as_complex, view_as_real and mul of complex numbers (torch 2.11 ATen/native/ComplexHelper.h,
// TensorFactories.cpp polar; derivatives.yaml; FunctionsManual.cpp mul_tensor_backward).
#include "engine/ops/complex.hpp"

#include "engine/ops/copy.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/session.hpp"

namespace vramfit::engine {

namespace {

/// A view of the same memory in the other type.
Tensor complex_of(const Tensor& t) {
    Dims strides = t.strides().erase(t.dim() - 1);
    for (int i = 0; i < strides.size(); ++i) strides[i] = strides[i] / 2;
    Tensor out = alias(t, t.sizes().erase(t.dim() - 1), strides);
    out->dtype = kComplex;
    return out;
}

Tensor real_of(const Tensor& t) {
    Dims strides = t.strides();
    for (int i = 0; i < strides.size(); ++i) strides[i] = strides[i] * 2;
    Tensor out = alias(t, t.sizes().insert(t.dim(), 2), strides.insert(t.dim(), 1));
    out->dtype = DType::float32;
    return out;
}

// at::view_as_real(grad.contiguous().resolve_conj()).
void view_as_complex_backward(Node&, Grads& in, Grads& out) { out[0] = real_of(contiguous(in[0])); }
const NodeType kViewAsComplexBackward{"ViewAsComplexBackward0", view_as_complex_backward};

// at::view_as_complex(grad.contiguous()).
void view_as_real_backward(Node&, Grads& in, Grads& out) { out[0] = complex_of(contiguous(in[0])); }
const NodeType kViewAsRealBackward{"ViewAsRealBackward0", view_as_real_backward};

// grad * other.conj(): the conjugate is copied for the product (ATen/ConjugateFallback.cpp).
void mul_complex_backward(Node& node, Grads& in, Grads& out) {
    const Tensor other = node.unpack(0);
    const Tensor conjugate = clone(other);
    out[0] = pointwise_result(in[0], conjugate, kComplex, Op::mul);
}
const NodeType kMulComplexBackward{"MulBackward0", mul_complex_backward};

Tensor with_node(const Tensor& t, const NodeType& type, Tensor (*view)(const Tensor&)) {
    Ref<Node> node;
    if (needs_grad(t)) {
        node = make_node(t.session(), type);
        add_edge(*node, t);
    }
    Tensor out = view(t);
    if (node) set_history(out, node);
    return out;
}

}  // namespace

Tensor polar(const Tensor& absolute, const Tensor& angle) {
    return pointwise_result(absolute, angle, kComplex, Op::empty);
}

Tensor view_as_complex(const Tensor& t) { return with_node(t, kViewAsComplexBackward, complex_of); }
Tensor view_as_real(const Tensor& t) { return with_node(t, kViewAsRealBackward, real_of); }

Tensor mul_complex(const Tensor& a, const Tensor& b) {
    Ref<Node> node;
    if (needs_grad(a)) {
        node = make_node(a.session(), kMulComplexBackward);
        add_edge(*node, a);
        node->save(b);
    }
    Tensor out = pointwise_result(a, b, kComplex, Op::mul);
    if (node) set_history(out, node);
    return out;
}

}  // namespace vramfit::engine
