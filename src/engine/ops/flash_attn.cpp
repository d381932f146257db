// flash_attn 2.5 to 2.7 (flash_attn_interface.py FlashAttnFunc, csrc/flash_attn/flash_api.cpp mha_fwd and mha_bwd).
#include "engine/ops/flash_attn.hpp"

#include "engine/ops/attention.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/index.hpp"
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

namespace {

/// Of one token for each row, whose heads that share keys become queries of one head: seqlenq_ngroups_swapped.
bool swaps_groups(const Tensor& query, Size heads, Size key_heads, Size longest, double dropout) {
    return query.session().decide("flash_attn one token", longest == 1) && heads > key_heads && dropout == 0;
}

/// set_params_splitkv: the accumulators of a forward pass that is divided over the keys, for the time of the kernel.
void accumulate_parts(Session& session, Size rows, Size length, Size heads, Size head, Size keys,
                      Tensor (&accumulators)[2]) {
    const Size per_processor = session.stack.flash_attn_counts_processors_twice() ? 2 : 1;
    const Tensor asked = host_tensor(session, {rows, length, heads, head}, DType::bfloat16);
    const Size n = flash_splits(session.device.multiprocessors * per_processor, asked, keys);
    if (!session.decide("flash_attn splits", n > 1)) return;
    accumulators[0] = empty(session, {n, rows, heads, length}, DType::float32, Op::flash_attn_forward);
    accumulators[1] =
        empty(session, {n, rows, heads, length, head_rounded(head)}, DType::float32, Op::flash_attn_forward);
}

/// What a kernel gives.
struct Attention {
    Tensor out, lse, state;
};

Tensor generator_state(Session& session) { return empty(session, {2}, DType::int64, Op::flash_attn_forward); }

/// mha_fwd.
Attention attend_rows(const Tensor& q, const Tensor& k, double dropout) {
    Session& session = q.session();
    const Size B = q.size(0), S = q.size(1), H = q.size(2), D = q.size(3), shared = k.size(2);
    Attention result;
    result.out = kernel_output_like(q, Op::flash_attn_forward);
    result.lse = empty(session, {B, H, S}, DType::float32, Op::flash_attn_forward);
    Tensor accumulators[2];
    if (swaps_groups(q, H, shared, S, dropout)) {
        accumulate_parts(session, B, H / shared, shared, D, k.size(1), accumulators);
    } else if (dropout == 0) {
        Tensor given_back[2];
        accumulate_parts(session, B, S, H, D, k.size(1), given_back);
    }
    result.state = generator_state(session);
    return result;
}

/// mha_varlen_fwd: keys are divided of single tokens only, whose heads are copied into another order and back.
Attention attend_packed(const Tensor& query, const Tensor& k, const PackedRows& rows, double dropout) {
    Session& session = query.session();
    const Size tokens = query.size(0), H = query.size(1), D = query.size(2), shared = k.size(1);
    Attention result;
    if (!swaps_groups(query, H, shared, rows.longest_query, dropout)) {
        result.out = kernel_output_like(query, Op::flash_attn_forward);
        result.lse = empty(session, {H, tokens}, DType::float32, Op::flash_attn_forward);
        result.state = generator_state(session);
        return result;
    }
    const Size size = H / shared;
    const auto back = [&](const Tensor& t) {
        return reshape(transpose(reshape(t, {tokens, size, shared, D}), 1, 2), {tokens, H, D});
    };
    Tensor q = reshape(transpose(reshape(query, {tokens, shared, size, D}), 1, 2), {tokens * size, shared, D});
    result.out = kernel_output_like(q, Op::flash_attn_forward);
    result.lse = empty(session, {shared, tokens * size}, DType::float32, Op::flash_attn_forward);
    Tensor accumulators[2];
    accumulate_parts(session, tokens, size, shared, D, rows.longest_key, accumulators);
    result.state = generator_state(session);
    result.out = back(result.out);
    q = back(q);
    return result;
}

// Saved: query, key, value, output, logsumexp, both bounds, the generator's state.
void flash_attn_varlen_backward(Node& node, Grads& in, Grads& out) {
    Session& session = *node.session;
    const Tensor q = node.unpack(0), k = node.unpack(1), v = node.unpack(2);
    const Tensor output = node.unpack(3), lse = node.unpack(4), query_bounds = node.unpack(5),
                 key_bounds = node.unpack(6), state = node.unpack(7);
    const Size width = in[0].size(-1);
    const Size tokens = q.size(0), H = q.size(1), D = q.size(2);
    const Tensor dq = kernel_output_like(q, Op::flash_attn_backward);
    const Tensor dk = kernel_output_like(k, Op::flash_attn_backward);
    const Tensor dv = kernel_output_like(v, Op::flash_attn_backward);
    const Tensor grad = as_kernel_takes(detach(in[0]));
    const Size rows = tokens + 128 * (query_bounds.size(0) - 1);
    const Tensor softmax_d = empty(session, {H, rows}, DType::float32, Op::flash_attn_backward);
    const Tensor dq_accum = empty(session, {rows, H, head_rounded(D)}, DType::float32, Op::flash_attn_backward);
    Tensor dk_expanded, dv_expanded;
    if (k.size(1) != H) {
        dk_expanded = empty(session, {k.size(0), H, D}, q.dtype(), Op::flash_attn_backward);
        dv_expanded = empty(session, {k.size(0), H, D}, q.dtype(), Op::flash_attn_backward);
    }
    if (node.wants(0)) out[0] = narrowed(dq, width);
    if (node.wants(1)) out[1] = narrowed(dk, width);
    if (node.wants(2)) out[2] = narrowed(dv, width);
}
const NodeType kFlashAttnVarlenBackward{"FlashAttnVarlenFuncBackward", flash_attn_varlen_backward};

// flash_attn 2.7.3 bert_padding.py IndexPutFirstAxis: the gradient at the places.
void put_back_backward(Node& node, Grads& in, Grads& out) {
    const Tensor places = node.unpack(0);
    out[0] = index_rows(detach(in[0]), places);
}
const NodeType kPutBackBackward{"IndexPutFirstAxisBackward", put_back_backward};

}  // namespace

Tensor flash_attn_varlen_func(const Tensor& query, const Tensor& key, const Tensor& value, const PackedRows& rows,
                              double dropout) {
    check_package_takes(query);
    Session& session = query.session();
    Ref<Node> node;
    if (needs_grad(query, key, value)) {
        node = make_node(session, kFlashAttnVarlenBackward);
        for (const Tensor* t : {&query, &key, &value}) add_edge(*node, *t);
    }
    const GradMode no_grad(session, false);
    const Size width = query.size(-1);
    const bool padded = width % 8 != 0;
    const Tensor q = as_kernel_takes(query), k = as_kernel_takes(key), v = as_kernel_takes(value);
    const auto [out, lse, state] = attend_packed(q, k, rows, dropout);
    const Tensor result = padded ? narrowed(out, width) : out;
    if (!node) return result;
    set_history(result, node);
    for (const Tensor* t : {&q, &k, &v}) node->save(*t);
    node->save(out, !padded);
    for (const Tensor* t : {&lse, &rows.query_bounds, &rows.key_bounds, &state}) node->save(*t);
    return result;
}

// ATen/native/TensorAdvancedIndexing.cpp make_info: int32 indices become int64.
Tensor put_back(const Tensor& values, const Tensor& places, Size count) {
    Session& session = values.session();
    Ref<Node> node;
    if (needs_grad(values)) {
        node = make_node(session, kPutBackBackward);
        add_edge(*node, values);
        node->save(places);
    }
    Dims sizes = values.sizes();
    sizes[0] = count;
    const Tensor whole = zeros(session, sizes, values.dtype());
    { const Tensor indices = to(places, DType::int64); }
    if (node) set_history(whole, node);
    return whole;
}

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
    const auto [out, lse, state] = attend_rows(q, k, dropout);
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
