// Source: torch 2.11 tools/autograd/derivatives.yaml; autocast_mode.h AT_FORALL_FP32 says which autocast runs in
// float32.
#include "engine/ops/unary.hpp"

#include "engine/autocast.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/session.hpp"

namespace vramfit::engine {

namespace {

enum class Saves : std::uint8_t { input, result };

Tensor of_one(const Tensor& t, Op op, Saves saves, const NodeType& type) {
    Ref<Node> node;
    if (needs_grad(t)) {
        node = make_node(t.session(), type);
        add_edge(*node, t);
        if (saves == Saves::input) node->save(t);
    }
    Tensor out = pointwise_result(t, is_floating(t.dtype()) ? t.dtype() : DType::float32, op);
    if (node) {
        set_history(out, node);
        if (saves == Saves::result) node->save(out, true);
    }
    return out;
}

// exp: grad * result.
void times_saved(Node& node, Grads& in, Grads& out) {
    const Tensor saved = node.unpack(0);
    out[0] = mul(in[0], saved);
}
const NodeType kExpBackward{"ExpBackward0", times_saved};

// expm1: grad * (result + 1).
void expm1_backward(Node& node, Grads& in, Grads& out) {
    const Tensor result = node.unpack(0);
    const Tensor sum = add(result, 1);
    out[0] = mul(in[0], sum);
}
const NodeType kExpm1Backward{"Expm1Backward0", expm1_backward};

// log: grad.div(self).
void log_backward(Node& node, Grads& in, Grads& out) {
    const Tensor self = node.unpack(0);
    out[0] = div(in[0], self);
}
const NodeType kLogBackward{"LogBackward0", log_backward};

// log1p: log1p_backward, grad / (self + 1).
void log1p_backward(Node& node, Grads& in, Grads& out) {
    const Tensor self = node.unpack(0);
    const Tensor sum = add(self, 1);
    out[0] = div(in[0], sum);
}
const NodeType kLog1pBackward{"Log1PBackward0", log1p_backward};

void softplus_backward(Node& node, Grads& in, Grads& out) {
    const Tensor self = node.unpack(0);
    out[0] = pointwise_result(in[0], self, self.dtype(), Op::softplus_backward);
}
const NodeType kSoftplusBackward{"SoftplusBackward0", softplus_backward};

// log_sigmoid_backward; the forward's buffer is empty on CUDA.
void log_sigmoid_backward(Node& node, Grads& in, Grads& out) {
    const Tensor self = node.unpack(0);
    out[0] = pointwise_result(in[0], self, self.dtype(), Op::log_sigmoid_backward);
}
const NodeType kLogSigmoidBackward{"LogSigmoidBackward0", log_sigmoid_backward};

// sqrt: grad / (2 * result).
void sqrt_backward(Node& node, Grads& in, Grads& out) {
    const Tensor result = node.unpack(0);
    const Tensor twice = mul(result, 2);
    out[0] = div(in[0], twice);
}
const NodeType kSqrtBackward{"SqrtBackward0", sqrt_backward};

// abs: grad * self.sgn().
void abs_backward(Node& node, Grads& in, Grads& out) {
    const Tensor self = node.unpack(0);
    const Tensor sign = pointwise_result(self, self.dtype(), Op::sgn);
    out[0] = mul(in[0], sign);
}
const NodeType kAbsBackward{"AbsBackward0", abs_backward};

// reciprocal: -grad * (result * result); g++ evaluates the right factor first.
void reciprocal_backward(Node& node, Grads& in, Grads& out) {
    const Tensor result = node.unpack(0);
    const Tensor product = mul(result, result);
    const Tensor minus = neg(in[0]);
    out[0] = mul(minus, product);
}
const NodeType kReciprocalBackward{"ReciprocalBackward0", reciprocal_backward};

void rsub_backward(Node&, Grads& in, Grads& out) { out[0] = neg(in[0]); }
const NodeType kRsubBackward{"RsubBackward1", rsub_backward};

}  // namespace

Tensor exp(const Tensor& t) { return of_one(autocast_to_float32(t), Op::exp, Saves::result, kExpBackward); }
Tensor expm1(const Tensor& t) { return of_one(autocast_to_float32(t), Op::expm1, Saves::result, kExpm1Backward); }
Tensor log(const Tensor& t) { return of_one(autocast_to_float32(t), Op::log, Saves::input, kLogBackward); }
Tensor log1p(const Tensor& t) { return of_one(autocast_to_float32(t), Op::log1p, Saves::input, kLog1pBackward); }
Tensor softplus(const Tensor& t) {
    return of_one(autocast_to_float32(t), Op::softplus, Saves::input, kSoftplusBackward);
}
Tensor log_sigmoid(const Tensor& t) { return of_one(t, Op::log_sigmoid_forward, Saves::input, kLogSigmoidBackward); }
Tensor sqrt(const Tensor& t) { return of_one(t, Op::sqrt, Saves::result, kSqrtBackward); }
Tensor abs(const Tensor& t) { return of_one(t, Op::abs, Saves::input, kAbsBackward); }
Tensor reciprocal_of(const Tensor& t) {
    return of_one(autocast_to_float32(t), Op::reciprocal, Saves::result, kReciprocalBackward);
}

Tensor subtracted_from_number(const Tensor& t) {
    Ref<Node> node;
    if (needs_grad(t)) {
        node = make_node(t.session(), kRsubBackward);
        add_edge(*node, t);
    }
    Tensor out = pointwise_result(t, t.dtype(), Op::sub);
    if (node) set_history(out, node);
    return out;
}

}  // namespace vramfit::engine
