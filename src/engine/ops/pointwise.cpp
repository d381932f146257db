// Elementwise forward operators.
#include "engine/ops/pointwise.hpp"

#include "engine/autocast.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/pointwise_backward.hpp"
#include "engine/session.hpp"

namespace vramfit::engine {

namespace {

/// c10/core/ScalarType.h promoteTypes for the types that occur.
DType promote_types(DType a, DType b) {
    if (a == b) return a;
    if (is_floating(a) != is_floating(b)) return is_floating(a) ? a : b;
    if (is_floating(a)) {
        if (element_size(a) == element_size(b)) return DType::float32;  // float16 with bfloat16
        return element_size(a) > element_size(b) ? a : b;
    }
    if (a == DType::boolean) return b;
    if (b == DType::boolean) return a;
    return element_size(a) >= element_size(b) ? a : b;
}

bool same_kind_or_lower(DType of, DType than) { return is_floating(than) || !is_floating(of); }

Ref<Node> unary_node(const Tensor& a, const NodeType& type) {
    Ref<Node> node = make_node(a.session(), type);
    add_edge(*node, a);
    return node;
}

/// A unary operator whose backward needs its input.
Tensor saves_input(const Tensor& a, Op op, const NodeType& type) {
    Ref<Node> node;
    if (needs_grad(a)) {
        node = unary_node(a, type);
        node->save(a);
    }
    Tensor out = pointwise_result(a, a.dtype(), op);
    if (node) set_history(out, node);
    return out;
}

/// A unary operator whose backward needs its result.
Tensor saves_result(const Tensor& a, Op op, const NodeType& type) {
    Ref<Node> node;
    if (needs_grad(a)) node = unary_node(a, type);
    Tensor out = pointwise_result(a, a.dtype(), op);
    if (node) {
        set_history(out, node);
        node->save(out, true);
    }
    return out;
}

/// A unary operator whose backward needs no tensor.
Tensor saves_nothing(const Tensor& a, DType dtype, Op op, const NodeType& type) {
    Ref<Node> node;
    if (needs_grad(a)) node = unary_node(a, type);
    Tensor out = pointwise_result(a, dtype, op);
    if (node) set_history(out, node);
    return out;
}

}  // namespace

DType result_type(const Tensor& a, const Tensor& b) {
    if (a.dim() > 0 && b.dim() == 0 && same_kind_or_lower(b.dtype(), a.dtype())) return a.dtype();
    if (b.dim() > 0 && a.dim() == 0 && same_kind_or_lower(a.dtype(), b.dtype())) return b.dtype();
    return promote_types(a.dtype(), b.dtype());
}

DType result_type(const Tensor& a, Scalar b) {
    return b.floating && !is_floating(a.dtype()) ? DType::float32 : a.dtype();
}

Tensor pointwise_result(const Tensor& a, DType dtype, Op op) {
    const Layout layout = layout_of(a);
    return empty_strided(a.session(), a.sizes(), pointwise_strides(a.sizes(), {&layout, 1}), dtype, op);
}

Tensor pointwise_result(const Tensor& a, const Tensor& b, DType dtype, Op op) {
    const Layout layouts[2] = {layout_of(a), layout_of(b)};
    const Dims sizes = broadcast_sizes(a.sizes(), b.sizes());
    return empty_strided(a.session(), sizes, pointwise_strides(sizes, layouts), dtype, op);
}

Tensor add(const Tensor& a, const Tensor& b) {
    Ref<Node> node;
    if (needs_grad(a, b)) {
        node = make_node(a.session(), kAddBackward);
        add_edge(*node, a);
        add_edge(*node, b);
    }
    Tensor out = pointwise_result(a, b, result_type(a, b), Op::add);
    if (node) set_history(out, node);
    return out;
}

Tensor add(const Tensor& a, Scalar b) { return saves_nothing(a, result_type(a, b), Op::add, kPassBackward); }

void add_(const Tensor& a, const Tensor&) {
    Recorder& recorder = a.session().recorder;
    recorder.launch(recorder.stream);
}

Tensor sub(const Tensor& a, const Tensor& b) {
    Ref<Node> node;
    if (needs_grad(a, b)) {
        node = make_node(a.session(), kSubBackward);
        add_edge(*node, a);
        add_edge(*node, b);
    }
    Tensor out = pointwise_result(a, b, result_type(a, b), Op::sub);
    if (node) set_history(out, node);
    return out;
}

Tensor sub(const Tensor& a, Scalar b) { return saves_nothing(a, result_type(a, b), Op::sub, kPassBackward); }

Tensor mul(const Tensor& a, const Tensor& b) {
    Ref<Node> node;
    if (needs_grad(a, b)) {
        node = make_node(a.session(), kMulBackward);
        add_edge(*node, a);
        add_edge(*node, b);
        // Each factor is kept only for the other one's gradient.
        node->save(b.requires_grad() ? a : Tensor());
        node->save(a.requires_grad() ? b : Tensor());
    }
    Tensor out = pointwise_result(a, b, result_type(a, b), Op::mul);
    if (node) set_history(out, node);
    return out;
}

Tensor mul(const Tensor& a, Scalar b) { return saves_nothing(a, result_type(a, b), Op::mul, kScaleBackward); }

void mul_(const Tensor& a, Scalar) {
    Recorder& recorder = a.session().recorder;
    recorder.launch(recorder.stream);
    if (needs_grad(a)) set_history(a, unary_node(a, kScaleBackward));
}

Tensor div(const Tensor& a, const Tensor& b) {
    Ref<Node> node;
    if (needs_grad(a, b)) {
        node = make_node(a.session(), kDivBackward);
        add_edge(*node, a);
        add_edge(*node, b);
        node->save(b.requires_grad() ? a : Tensor());
        node->save(b);
    }
    DType dtype = result_type(a, b);
    if (!is_floating(dtype)) dtype = DType::float32;
    Tensor out = pointwise_result(a, b, dtype, Op::div);
    if (node) set_history(out, node);
    return out;
}

Tensor div(const Tensor& a, Scalar b) {
    const DType dtype = is_floating(a.dtype()) ? a.dtype() : DType::float32;
    (void)b;
    return saves_nothing(a, dtype, Op::div, kUnscaleBackward);
}

Tensor neg(const Tensor& a) { return saves_nothing(a, a.dtype(), Op::neg, kNegBackward); }

Tensor square(const Tensor& input) {
    const Tensor a = autocast_to_float32(input);
    return saves_input(a, Op::pow, kSquareBackward);
}

Tensor rsqrt(const Tensor& input) {
    const Tensor a = autocast_to_float32(input);
    return saves_result(a, Op::rsqrt, kRsqrtBackward);
}

Tensor cos(const Tensor& a) { return saves_input(a, Op::cos, kCosBackward); }
Tensor sin(const Tensor& a) { return saves_input(a, Op::sin, kSinBackward); }
Tensor tanh(const Tensor& a) { return saves_result(a, Op::tanh, kTanhBackward); }
Tensor silu(const Tensor& a) { return saves_input(a, Op::silu, kSiluBackward); }
Tensor gelu(const Tensor& a) { return saves_input(a, Op::gelu, kGeluBackward); }
Tensor relu(const Tensor& a) { return saves_result(a, Op::relu, kReluBackward); }
Tensor reciprocal(const Tensor& a) { return saves_result(a, Op::reciprocal, kUnsupportedBackward); }
Tensor clamp(const Tensor& a) { return saves_input(a, Op::clamp, kUnsupportedBackward); }

Tensor compare(Op op, const Tensor& a, const Tensor& b) { return pointwise_result(a, b, DType::boolean, op); }
Tensor compare(Op op, const Tensor& a) { return pointwise_result(a, DType::boolean, op); }

Tensor masked_fill(const Tensor& a, const Tensor& mask) {
    Ref<Node> node;
    if (needs_grad(a)) {
        node = unary_node(a, kMaskedFillBackward);
        node->save(mask);
    }
    // ATen/native/TensorAdvancedIndexing.cpp masked_fill: a dense clone of the expanded input, filled in place.
    Tensor out = empty(a.session(), broadcast_sizes(a.sizes(), mask.sizes()), a.dtype(), Op::masked_fill);
    if (node) set_history(out, node);
    return out;
}

}  // namespace vramfit::engine
