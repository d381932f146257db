// FlashAttention-2 inside PyTorch (torch 2.11 ATen/native/transformers/cuda/{attention,attention_backward}.cu,
// flash_attn/flash_api.cpp).
#include "engine/ops/attention.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/ops/copy.hpp"
#include "engine/ops/view.hpp"
#include "engine/session.hpp"
#include "vramfit/base/checked.hpp"

namespace vramfit::engine {

namespace {

/// flash_api.cpp head_size_rounded: to multiples of 32, in newer releases above 128 of 64.
Size rounded_head(const Session& session, Size head) {
    return head > 128 && session.stack.flash_attention_rounds_large_heads() ? round_up(head, 64) : round_up(head, 32);
}

// Saved: query, key, value, output, logsumexp, seed, offset.
void flash_node_backward(Node& node, Grads& in, Grads& out) {
    std::array<Tensor, 7> saved;
    for (std::size_t i = 0; i < saved.size(); ++i) saved[i] = node.unpack(i);
    const AttentionGradients gradients = flash_backward(in[0], saved[0], saved[1], saved[2], saved[3]);
    give_gradients(node, gradients, out);
}
const NodeType kFlashBackward{"ScaledDotProductFlashAttentionBackward0", flash_node_backward};

/// flash_api.cpp num_splits_heuristic.
std::int64_t num_splits_heuristic(std::int64_t batch_heads_m, std::int64_t sms, std::int64_t n_blocks,
                                  std::int64_t max_splits) {
    if (static_cast<double>(batch_heads_m) >= 0.8 * static_cast<double>(sms)) return 1;
    max_splits = std::min({max_splits, sms, n_blocks});
    const auto blocks = [&](std::int64_t s) { return (n_blocks + s - 1) / s; };
    const auto eligible = [&](std::int64_t s) { return s == 1 || blocks(s) != blocks(s - 1); };
    const auto efficiency = [&](std::int64_t s) {
        const float waves = static_cast<float>(batch_heads_m * s) / static_cast<float>(sms);
        return waves / std::ceil(waves);
    };
    float best = 0.F;
    for (std::int64_t s = 1; s <= max_splits; ++s)
        if (eligible(s)) best = std::max(best, efficiency(s));
    for (std::int64_t s = 1; s <= max_splits; ++s)
        if (eligible(s) && efficiency(s) >= 0.85F * best) return s;
    return 1;
}

/// Of batch times heads, queries, keys, head width, processors.
std::int64_t splits_of(const void*, std::span<const std::int64_t> a) {
    const std::int64_t block_n = a[3] <= 64 ? 256 : (a[3] <= 128 ? 128 : 64);
    return num_splits_heuristic(a[0] * ((a[1] + 63) / 64), a[4], (a[2] + block_n - 1) / block_n, 128);
}

}  // namespace

Size flash_splits(Size processors, const Tensor& query, Size keys) {
    return apply({splits_of, "flash_splits"}, nullptr,
                 {query.size(0) * query.size(2), query.size(1), keys, query.size(3), processors});
}

// The kernels see [B, S, H, D]; what goes in and out are [B, H, S, D] views of that.
AttentionGradients flash_backward(const Tensor& grad_output, const Tensor& query, const Tensor& key,
                                  const Tensor& value, const Tensor& output) {
    Session& session = query.session();
    const Tensor q = transpose(detach(query), 1, 2);
    const Tensor k = transpose(detach(key), 1, 2);
    const Tensor v = transpose(detach(value), 1, 2);
    const Tensor grad = contiguous(transpose(detach(grad_output), 1, 2));
    const Tensor dense_output = contiguous(transpose(detach(output), 1, 2));
    const Size B = q.size(0), S = q.size(1), H = q.size(2), D = q.size(3);
    const Size rounded_s = round_up(S, 128);
    const Size rounded_d = rounded_head(session, D);
    const auto like = [](const Tensor& t) {
        return empty_strided(t.session(), t.sizes(), preserved_strides(t.sizes(), t.strides()), t.dtype(),
                             Op::flash_backward);
    };
    const Tensor dq = like(q);
    const Tensor dk = like(k);
    const Tensor dv = like(v);
    const Tensor softmax_d = empty(session, {B, H, rounded_s}, DType::float32, Op::flash_backward);
    const Tensor dq_accum = empty(session, {B, rounded_s, H, rounded_d}, DType::float32, Op::flash_backward);
    Tensor dk_expanded, dv_expanded;
    if (k.size(2) != H) {
        dk_expanded = empty(session, {B, k.size(1), H, D}, q.dtype(), Op::flash_backward);
        dv_expanded = empty(session, {B, k.size(1), H, D}, q.dtype(), Op::flash_backward);
    }
    // Below autograd a transposition keeps no base (torch/csrc/autograd/variable.h ViewInfo).
    const auto transposed = [](const Tensor& t) {
        Tensor out = transpose(t, 1, 2);
        out->is_view = false;
        return out;
    };
    return {transposed(dq), transposed(dk), transposed(dv)};
}

AttentionResult flash_forward(const Tensor& query, const Tensor& key, const Tensor&, double dropout) {
    Session& session = query.session();
    const Tensor q = transpose(detach(query), 1, 2);
    const Size B = q.size(0), S = q.size(1), H = q.size(2), D = q.size(3);
    const Tensor out =
        empty_strided(session, q.sizes(), preserved_strides(q.sizes(), q.strides()), q.dtype(), Op::flash_forward);
    const Tensor lse = empty(session, {B, H, S}, DType::float32, Op::flash_forward);
    const Size n = dropout > 0 ? 1 : flash_splits(session.device.multiprocessors * 2, q, key.size(2));
    Tensor lse_accum, out_accum;
    if (session.decide("flash splits", n > 1)) {
        lse_accum = empty(session, {n, B, H, S}, DType::float32, Op::flash_forward);
        out_accum = empty(session, {n, B, H, S, rounded_head(session, D)}, DType::float32, Op::flash_forward);
    }
    const bool on_device = session.stack.flash_attention_keeps_its_state_on_device();
    const auto dropout_state = [&](const Dims& sizes) {
        return on_device ? empty(session, sizes, DType::int64, Op::flash_forward)
                         : host_tensor(session, sizes, DType::int64);
    };
    const Tensor seed = dropout_state({2});
    const Tensor unused = dropout_state({});
    // flash_api.cpp mha_fwd: with dropout the generator's state is copied to the device once more, for the launch.
    if (dropout > 0 && on_device) const Tensor state = empty(session, {2}, DType::int64, Op::flash_forward);
    return {alias(out, {B, H, S, D}, transpose(out, 1, 2).strides()), lse, seed, unused};
}

Tensor flash_attention(const Tensor& query, const Tensor& key, const Tensor& value, bool, double dropout) {
    const Ref<Node> node = attention_node(kFlashBackward, query, key, value);
    const AttentionResult result = flash_forward(query, key, value, dropout);
    if (node) save_result(node, result);
    return result.output;
}

}  // namespace vramfit::engine
