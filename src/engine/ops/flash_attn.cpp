// flash_attn 2.5 to 2.7 (flash_attn_interface.py FlashAttnFunc, csrc/flash_attn/flash_api.cpp mha_fwd and mha_bwd).
#include "engine/ops/flash_attn.hpp"

#include "engine/ops/attention.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/pad.hpp"
#include "engine/ops/view.hpp"
#include "engine/session.hpp"
#include "vramfit/base/checked.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::engine {

namespace {

constexpr Size kWidestHead = 256;

void check_package_takes(const Tensor& query) {
    std::string what;
    if (query.session().device.capability.major < 8)
        what = "the package flash_attn runs on Ampere GPUs and newer only";
    else if (!is_half(query.dtype()))
        what = "the package flash_attn takes fp16 and bf16 only";
    else if (query.size(-1) > kWidestHead)
        what = "the package flash_attn takes heads up to 256 wide";
    if (!what.empty()) throw Error(ErrorKind::unsupported, "load.attn_implementation", what, "sdpa, eager");
}

/// head_size_rounded.
Size head_rounded(Size head) { return head <= 192 ? round_up(head, 32) : kWidestHead; }

/// maybe_contiguous, and the head's width brought to a multiple of 8.
Tensor as_kernel_takes(const Tensor& t) {
    const Tensor dense = t.strides()[t.dim() - 1] == 1 ? t : contiguous(t);
    const Size rest = t.size(-1) % 8;
    return rest == 0 ? dense : pad_end(dense, 8 - rest);
}

Tensor kernel_output_like(const Tensor& t, Op op) {
    return empty_strided(t.session(), t.sizes(), preserved_strides(t.sizes(), t.strides()), t.dtype(), op);
}

/// The first `width` of the last dimension: a view, whole or not.
Tensor narrowed(const Tensor& t, Size width) {
    Dims sizes = t.sizes();
    sizes[-1] = width;
    return alias(t, sizes, t.strides());
}

// Saved: query, key, value, output, logsumexp, the generator's state.
void flash_attn_backward(Node& node, Grads& in, Grads& out) {
    Session& session = *node.session;
    const Tensor q = node.unpack(0), k = node.unpack(1), v = node.unpack(2);
    const Tensor output = node.unpack(3), lse = node.unpack(4), state = node.unpack(5);
    const Size width = in[0].size(-1);
    const Size B = q.size(0), S = q.size(1), H = q.size(2), D = q.size(3);
    const Tensor dq = kernel_output_like(q, Op::flash_attn_backward);
    const Tensor dk = kernel_output_like(k, Op::flash_attn_backward);
    const Tensor dv = kernel_output_like(v, Op::flash_attn_backward);
    const Tensor grad = as_kernel_takes(detach(in[0]));
    const Size rows = round_up(S, 128);
    const Tensor softmax_d = empty(session, {B, H, rows}, DType::float32, Op::flash_attn_backward);
    const Tensor dq_accum = empty(session, {B, rows, H, head_rounded(D)}, DType::float32, Op::flash_attn_backward);
    Tensor dk_expanded, dv_expanded;
    if (k.size(2) != H) {
        dk_expanded = empty(session, {B, k.size(1), H, D}, q.dtype(), Op::flash_attn_backward);
        dv_expanded = empty(session, {B, k.size(1), H, D}, q.dtype(), Op::flash_attn_backward);
    }
    if (node.wants(0)) out[0] = narrowed(dq, width);
    if (node.wants(1)) out[1] = narrowed(dk, width);
    if (node.wants(2)) out[2] = narrowed(dv, width);
}
const NodeType kFlashAttnBackward{"FlashAttnFuncBackward", flash_attn_backward};

}  // namespace

Tensor flash_attn_func(const Tensor& query, const Tensor& key, const Tensor& value, double dropout) {
    check_package_takes(query);
    Session& session = query.session();
    Ref<Node> node;
    if (needs_grad(query, key, value)) {
        node = make_node(session, kFlashAttnBackward);
        for (const Tensor* t : {&query, &key, &value}) add_edge(*node, *t);
    }
    // torch.autograd.Function.forward runs without a tape; its inputs are saved as they are handed on.
    const GradMode no_grad(session, false);
    const Size width = query.size(-1);
    const bool padded = width % 8 != 0;
    const Tensor q = as_kernel_takes(query), k = as_kernel_takes(key), v = as_kernel_takes(value);
    const Size B = q.size(0), S = q.size(1), H = q.size(2), D = q.size(3);
    const Tensor out = kernel_output_like(q, Op::flash_attn_forward);
    const Tensor lse = empty(session, {B, H, S}, DType::float32, Op::flash_attn_forward);
    const Size per_processor = session.stack.flash_attn_counts_processors_twice() ? 2 : 1;
    const Size n = dropout > 0 ? 1 : flash_splits(session.device.multiprocessors * per_processor, q, k.size(1));
    if (session.decide("flash_attn splits", n > 1)) {
        const Tensor lse_accum = empty(session, {n, B, H, S}, DType::float32, Op::flash_attn_forward);
        const Tensor out_accum = empty(session, {n, B, H, S, head_rounded(D)}, DType::float32, Op::flash_attn_forward);
    }
    const Tensor state = empty(session, {2}, DType::int64, Op::flash_attn_forward);
    const Tensor result = padded ? narrowed(out, width) : out;
    if (!node) return result;
    set_history(result, node);
    for (const Tensor* t : {&q, &k, &v}) node->save(*t);
    node->save(out, !padded);
    node->save(lse);
    node->save(state);
    return result;
}

}  // namespace vramfit::engine
