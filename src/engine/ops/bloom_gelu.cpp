// The autograd function that BLOOM has in place of gelu (transformers 5.17.0 models/bloom/modeling_bloom.py
// GeLUFunction): Python's operands are freed once their result is there.
#include "engine/ops/bloom_gelu.hpp"

#include "engine/node.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/session.hpp"

namespace vramfit::engine {

namespace {

/// number + t, which ends with it.
Tensor added_to(Tensor t) { return add(t, 1.0); }

/// torch.tanh(0.79788456 * x * (1 + 0.044715 * x * x)).
Tensor inner_tanh(const Tensor& x) {
    Tensor scaled = mul(x, 1.0);
    Tensor part = mul(x, 1.0);
    Tensor cubic = mul(part, x);
    part.reset();
    Tensor factor = added_to(std::move(cubic));
    const Tensor argument = mul(scaled, factor);
    scaled.reset();
    factor.reset();
    return tanh(argument);
}

/// 0.5 * x * ((1 - tanh * tanh) * (0.79788456 + 0.1070322243 * x * x)) + 0.5 * (1 + tanh).
Tensor slope(const Tensor& x, const Tensor& tanh_out) {
    Tensor half = mul(x, 0.5);
    Tensor squared = mul(tanh_out, tanh_out);
    Tensor rest = sub(squared, 1.0);
    squared.reset();
    Tensor part = mul(x, 1.0);
    Tensor quadratic = mul(part, x);
    part.reset();
    Tensor sum = added_to(std::move(quadratic));
    Tensor inner = mul(rest, sum);
    rest.reset();
    sum.reset();
    Tensor left = mul(half, inner);
    half.reset();
    inner.reset();
    Tensor one_more = add(tanh_out, 1.0);
    Tensor right = mul(one_more, 0.5);
    one_more.reset();
    return add(left, right);
}

// bloom_gelu_back.
void bloom_gelu_backward(Node& node, Grads& in, Grads& out) {
    const Tensor x = node.unpack(0);
    Tensor tanh_out = inner_tanh(x);
    const Tensor ff = slope(x, tanh_out);
    out[0] = mul(ff, in[0]);
    tanh_out.reset();
}
const NodeType kBloomGeluBackward{"GeLUFunctionBackward", bloom_gelu_backward};

// x * 0.5 * (1.0 + tanh): bloom_gelu_forward.
Tensor forward(const Tensor& x) {
    const Tensor half = mul(x, 0.5);
    Tensor tanh_out = inner_tanh(x);
    const Tensor sum = added_to(std::move(tanh_out));
    return mul(half, sum);
}

}  // namespace

Tensor bloom_gelu(const Tensor& x) {
    Ref<Node> node;
    if (needs_grad(x)) {
        node = make_node(x.session(), kBloomGeluBackward);
        add_edge(*node, x);
        node->save(x);
    }
    const GradMode off(x.session(), false);
    Tensor out = forward(x);
    if (node) set_history(out, node);
    return out;
}

}  // namespace vramfit::engine
