// Memory-efficient attention (torch 2.11 ATen/native/transformers/cuda/{attention,attention_backward}.cu).
#include <algorithm>
#include <array>

#include "engine/ops/attention.hpp"
#include "engine/ops/attention_efficient_kernels.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/view.hpp"
#include "engine/session.hpp"
#include "vramfit/base/checked.hpp"

namespace vramfit::engine {

namespace {

/// (grad_out.to(float) * out.to(float)).sum(-1).transpose(-2, -1).contiguous(); g++ evaluates the right factor first.
Tensor computed_delta(const Tensor& grad, const Tensor& output) {
    const Tensor out_float = to(output, DType::float32);
    const Tensor product = mul(to(grad, DType::float32), out_float);
    return contiguous(transpose(sum_dim(product, -1, false, DType::float32), 1, 2));
}

// Saved: query, key, value, bias, output, logsumexp.
void efficient_node_backward(Node& node, Grads& in, Grads& out) {
    std::array<Tensor, 6> saved;
    for (std::size_t i = 0; i < saved.size(); ++i) saved[i] = node.unpack(i);
    const Tensor bias = node.ints[1] ? saved[3] : Tensor();
    const AttentionGradients gradients =
        efficient_backward(in[0], saved[0], saved[1], saved[2], bias, saved[4], node.ints[0] != 0);
    give_gradients(node, gradients, out);
    if (node.ints[1]) out[3] = gradients.bias;
}
const NodeType kEfficientBackward{"ScaledDotProductEfficientAttentionBackward0", efficient_node_backward};

}  // namespace

// The kernels see [B, S, H, D].
AttentionGradients efficient_backward(const Tensor& grad_output, const Tensor& query, const Tensor& key,
                                      const Tensor& value, const Tensor& bias, const Tensor& given_output, bool drops) {
    Session& session = query.session();
    const Tensor q = transpose(detach(query), 1, 2);
    const Tensor k = transpose(detach(key), 1, 2);
    const Tensor v = transpose(detach(value), 1, 2);
    const Tensor output = transpose(detach(given_output), 1, 2);
    const Tensor grad = contiguous(transpose(detach(grad_output), 1, 2));
    const Tensor dq = empty(session, q.sizes(), q.dtype(), Op::efficient_backward);
    const Tensor dk = empty(session, k.sizes(), k.dtype(), Op::efficient_backward);
    const Tensor dv = empty(session, v.sizes(), v.dtype(), Op::efficient_backward);
    Tensor dk_of_heads, dv_of_heads;  // summed over the heads of a group
    if (session.decide("grouped heads", !same(q.size(2), k.size(2)))) {
        dk_of_heads = empty(session, {k.size(0), k.size(1), q.size(2), k.size(3)}, k.dtype(), Op::efficient_backward);
        dv_of_heads = empty(session, {v.size(0), v.size(1), q.size(2), v.size(3)}, v.dtype(), Op::efficient_backward);
    }
    Tensor of_bias;  // its rows start at multiples of 16 elements
    if (bias.defined()) {
        Dims sizes = bias.sizes();
        sizes[-1] = round_up(sizes[-1], 16);
        of_bias = slice(empty(session, sizes, bias.dtype(), Op::efficient_backward), -1, 0, bias.size(-1));
    }
    const EfficientShape shape{q.size(0), q.size(2), q.size(1), k.size(1), q.size(3), v.size(3)};
    EfficientBackwardKernel kernel = efficient_backward_kernel(
        session.device.capability, q.dtype(), static_cast<std::int64_t>(std::max(shape.head, shape.value_head)), drops);
    kernel.keeps_all_keys = session.stack.efficient_attention_accumulates_all_keys();
    const Tensor delta =
        session.decide("kernel computes delta", kernel.computes_delta)
            ? empty(session, {shape.batch, shape.heads, shape.queries}, DType::float32, Op::efficient_backward)
            : computed_delta(grad, output);
    Tensor workspace;
    if (const Size bytes = efficient_backward_workspace(kernel, shape); bytes > 0)
        workspace = empty(session, {bytes}, DType::uint8, Op::efficient_backward);
    return {transpose(dq, 1, 2), transpose(dk, 1, 2), transpose(dv, 1, 2), of_bias};
}

AttentionResult efficient_forward(const Tensor& query, const Tensor& value, bool with_logsumexp, bool drops) {
    Session& session = query.session();
    const Size B = query.size(0), H = query.size(1), S = query.size(2), D = value.size(3);
    Tensor seed, offset;
    if (session.stack.efficient_attention_keeps_its_seed() && !drops) {  // with dropout they are scalars of the host
        seed = zeros(session, {}, DType::int64);
        offset = zeros(session, {}, DType::int64);
    }
    const Tensor out = empty(session, {B, S, H, D}, query.dtype(), Op::efficient_forward);
    Tensor lse;
    // kAlignLSE; where nobody asks for it the tensor has no elements.
    if (with_logsumexp) lse = empty(session, {B, H, round_up(S, 32)}, DType::float32, Op::efficient_forward);
    // kNeedsOutputAccumulatorBuffer: only the kernel for more than 128 channels works through the values in several
    // steps.
    if (session.decide("output accumulator", is_half(query.dtype()) && D > 128))
        const Tensor accumulator = empty(session, {B, S, H, D}, DType::float32, Op::efficient_forward);
    return {alias(out, {B, H, S, D}, transpose(out, 1, 2).strides()), lse, seed, offset};
}

Tensor efficient_attention(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& bias,
                           double dropout) {
    const Ref<Node> node = attention_node(kEfficientBackward, query, key, value);
    if (node) {
        node->ints[0] = dropout > 0;
        node->save(bias);
        node->ints[1] = bias.defined() && needs_grad(bias);
        if (node->ints[1]) add_edge(*node, bias);
    }
    const AttentionResult result = efficient_forward(query, value, static_cast<bool>(node), dropout > 0);
    if (node) {
        set_history(result.output, node);
        node->save(result.output, true);
        node->save(result.logsumexp, true);
        for (const Tensor* t : {&result.seed, &result.offset})
            if (t->defined()) node->save(*t, true);
    }
    return result.output;
}

}  // namespace vramfit::engine
