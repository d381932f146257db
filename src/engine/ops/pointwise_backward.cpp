// Gradients of the elementwise operators, allocation by allocation (torch 2.11 tools/autograd/derivatives.yaml).
#include "engine/ops/pointwise_backward.hpp"

#include <stdexcept>
#include <string>

#include "engine/ops/pointwise.hpp"
#include "engine/session.hpp"

namespace vramfit::engine {

namespace {

void add_backward(Node& node, Grads& in, Grads& out) {
    for (std::size_t i = 0; i < out.size(); ++i)
        if (node.wants(i)) out[i] = in[0];
}

void pass_backward(Node&, Grads& in, Grads& out) { out[0] = in[0]; }

void sub_backward(Node& node, Grads& in, Grads& out) {
    if (node.wants(1)) out[1] = neg(in[0]);
    if (node.wants(0)) out[0] = in[0];
}

void mul_backward(Node& node, Grads& in, Grads& out) {
    const Tensor self = node.unpack(0);
    const Tensor other = node.unpack(1);
    if (node.wants(1)) out[1] = mul(in[0], self);
    if (node.wants(0)) out[0] = mul(in[0], other);
}

void scale_backward(Node&, Grads& in, Grads& out) { out[0] = mul(in[0], 1.0); }
void unscale_backward(Node&, Grads& in, Grads& out) { out[0] = div(in[0], 1.0); }
void neg_backward(Node&, Grads& in, Grads& out) { out[0] = neg(in[0]); }

// div_tensor_other_grad: -grad * ((self / other) / other); temporaries of an expression live to its end.
void div_backward(Node& node, Grads& in, Grads& out) {
    const Tensor self = node.unpack(0);
    const Tensor other = node.unpack(1);
    if (node.wants(1)) {
        const Tensor quotient = div(self, other);
        const Tensor ratio = div(quotient, other);
        const Tensor minus = neg(in[0]);
        out[1] = mul(minus, ratio);
    }
    if (node.wants(0)) out[0] = div(in[0], other);
}

// pow_backward: grad * (exponent * self.pow(exponent - 1)).
void square_backward(Node& node, Grads& in, Grads& out) {
    const Tensor self = node.unpack(0);
    const Tensor power = pointwise_result(self, self.dtype(), Op::pow);
    const Tensor scaled = mul(power, 2.0);
    out[0] = mul(in[0], scaled);
}

// rsqrt: -0.5 * grad * result.pow(3); g++ evaluates the right factor first.
void rsqrt_backward(Node& node, Grads& in, Grads& out) {
    const Tensor result = node.unpack(0);
    const Tensor cube = pointwise_result(result, result.dtype(), Op::pow);
    const Tensor half = mul(in[0], -0.5);
    out[0] = mul(half, cube);
}

template <Op op>
void one_result_backward(Node& node, Grads& in, Grads& out) {
    const Tensor saved = node.unpack(0);
    out[0] = pointwise_result(in[0], saved, saved.dtype(), op);
}

void masked_fill_backward(Node& node, Grads& in, Grads& out) {
    const Tensor mask = node.unpack(0);
    out[0] = masked_fill(in[0], mask);
}

void unsupported_backward(Node& node, Grads&, Grads&) {
    throw std::logic_error(std::string("no backward for ") + node.type->name);
}

// grad * -self.sin()
void cos_backward(Node& node, Grads& in, Grads& out) {
    const Tensor self = node.unpack(0);
    const Tensor sine = pointwise_result(self, self.dtype(), Op::sin);
    const Tensor negative = pointwise_result(sine, sine.dtype(), Op::neg);
    out[0] = pointwise_result(in[0], negative, in[0].dtype(), Op::mul);
}

// grad * self.cos()
void sin_backward(Node& node, Grads& in, Grads& out) {
    const Tensor self = node.unpack(0);
    const Tensor cosine = pointwise_result(self, self.dtype(), Op::cos);
    out[0] = pointwise_result(in[0], cosine, in[0].dtype(), Op::mul);
}

}  // namespace

const NodeType kAddBackward{"AddBackward0", add_backward};
const NodeType kPassBackward{"AddBackward0", pass_backward};
const NodeType kSubBackward{"SubBackward0", sub_backward};
const NodeType kMulBackward{"MulBackward0", mul_backward};
const NodeType kScaleBackward{"MulBackward0", scale_backward};
const NodeType kDivBackward{"DivBackward0", div_backward};
const NodeType kUnscaleBackward{"DivBackward0", unscale_backward};
const NodeType kNegBackward{"NegBackward0", neg_backward};
const NodeType kSquareBackward{"PowBackward0", square_backward};
const NodeType kRsqrtBackward{"RsqrtBackward0", rsqrt_backward};
const NodeType kCosBackward{"CosBackward0", cos_backward};
const NodeType kSinBackward{"SinBackward0", sin_backward};
const NodeType kTanhBackward{"TanhBackward0", one_result_backward<Op::tanh_backward>};
const NodeType kSiluBackward{"SiluBackward0", one_result_backward<Op::silu_backward>};
const NodeType kGeluBackward{"GeluBackward0", one_result_backward<Op::gelu_backward>};
const NodeType kReluBackward{"ReluBackward0", one_result_backward<Op::threshold_backward>};
const NodeType kMaskedFillBackward{"MaskedFillBackward0", masked_fill_backward};
const NodeType kUnsupportedBackward{"UnsupportedBackward", unsupported_backward};

}  // namespace vramfit::engine
