// transformers 4.40.2: _update_causal_mask of Llama and Gemma, modeling_attn_mask_utils.py of the other families.
#include "engine/ops/copy.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/view.hpp"
#include "model/decoder_4_40.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// AttentionMaskConverter._ignore_causal_mask_sdpa, for as many keys as queries; asks the device whether all are ones.
bool causal_flag_is_enough(const Run& run, const Tensor& padding, std::optional<Size> window, Size length) {
    if (run.session.decide("mask slides", window && length >= *window)) return false;
    if (!padding.defined()) return true;
    const Tensor ones = compare(Op::eq, padding);
    const Tensor all = reduce(ones, 3, false, DType::boolean, Op::all);
    return run.plan.batch.attention_mask == AttentionMask::ones;
}

/// _unmask_unattended.
Tensor unmask_unattended(const Tensor& mask) {
    Tensor rows;
    {
        const Tensor smallest = compare(Op::eq, mask);
        rows = reduce(smallest, 1u << 3, true, DType::boolean, Op::all);
    }
    rows = compare(Op::bitwise_not, rows);
    return mul(mask, rows);
}

/// [B, S] to [B, 1, 1, S], as a subscript with None.
Tensor rows_of(const Tensor& padding) { return unsqueeze(unsqueeze(padding, 1), 1); }

/// LlamaModel._update_causal_mask, beyond the question whether there is one.
Tensor llama_mask(const Run& run, DType dtype, const Batch& batch, const Tensor& positions) {
    Session& session = run.session;
    const Size B = batch.input_ids.size(0), S = batch.input_ids.size(1);
    const Tensor& padding = batch.attention_mask;
    const Size T = padding.defined() ? S : S + 1;
    Tensor mask = empty(session, {S, T}, dtype, Op::full);
    if (S != 1) mask = pointwise_result(mask, dtype, Op::triu);
    {
        Tensor later = arange(session, T);
        later = compare(Op::gt, later, unsqueeze(positions, 1));
    }
    mask = expand(unsqueeze(unsqueeze(mask, 0), 0), {B, 1, S, T});
    if (!padding.defined()) return mask;
    mask = clone(mask);
    Tensor padded = add(mask, rows_of(padding));
    padded = compare(Op::eq, padded);
    { const Tensor filled = masked_fill(mask, padded); }
    if (run.plan.load.attention != AttentionImplementation::eager) mask = unmask_unattended(mask);
    return mask;
}

/// AttentionMaskConverter._make_causal_mask.
Tensor causal_mask(const Run& run, DType dtype, Size B, Size S, std::optional<Size> window) {
    Session& session = run.session;
    Tensor mask = empty(session, {S, S}, DType::float32, Op::full);
    const Tensor places = arange(session, S);
    {
        const Tensor next = add(places, 1);
        const Tensor before = compare(Op::lt, places, unsqueeze(next, 1));
    }
    mask = to(mask, dtype);
    Tensor context;
    if (window) {
        context = empty(session, {S, S}, DType::boolean, Op::ones_like);
        context = pointwise_result(context, DType::boolean, Op::tril);
    }
    return expand(unsqueeze(unsqueeze(mask, 0), 0), {B, 1, S, S});
}

/// AttentionMaskConverter._expand_mask.
Tensor expanded_padding(const Tensor& padding, DType dtype, Size S) {
    const Tensor expanded = to(expand(rows_of(padding), {padding.size(0), 1, S, padding.size(1)}), dtype);
    const Tensor inverted = pointwise_result(expanded, dtype, Op::sub);
    const Tensor masked = to(inverted, DType::boolean);
    return masked_fill(inverted, masked);
}

/// _prepare_4d_causal_attention_mask and its relative for sdpa.
Tensor converted_mask(const Run& run, DType dtype, const Batch& batch, std::optional<Size> window) {
    const Size B = batch.input_ids.size(0), S = batch.input_ids.size(1);
    Tensor causal;
    if (S > 1 || window) causal = causal_mask(run, dtype, B, S, window);
    if (!batch.attention_mask.defined()) return causal;
    Tensor mask = expanded_padding(batch.attention_mask, dtype, S);
    if (causal.defined()) {
        const Tensor masked = to(mask, DType::boolean);
        mask = masked_fill(causal, masked);
    }
    causal.reset();
    if (run.plan.load.attention != AttentionImplementation::eager) mask = unmask_unattended(mask);
    return mask;
}

/// `0 in attention_mask`: (mask == 0).any(), read by the host.
void look_for_zeros(const Tensor& padding) {
    const Tensor zeros = compare(Op::eq, padding);
    const Tensor any = reduce(zeros, 3, false, DType::boolean, Op::any);
}

}  // namespace

void look_for_right_padding(const Run& run, const Batch& batch) {
    if (run.plan.load.attention != AttentionImplementation::flash_attention_2 || !batch.attention_mask.defined())
        return;
    const GradMode no_grad(run.session, false);
    const Tensor count = sum_all(select(batch.attention_mask, 1));
}

Tensor mask_4_40(const Run& run, const Family& family, const Tensor& embedded, const Batch& batch,
                 const Tensor& positions) {
    const GradMode no_grad(run.session, false);
    if (run.plan.load.attention == AttentionImplementation::flash_attention_2) {
        if (batch.attention_mask.defined()) look_for_zeros(batch.attention_mask);
        return {};
    }
    std::optional<Size> window;
    if (family.converts_masks) window = run.spec.sliding_window;
    if (!window && run.stack.unused_windows_are_masked()) window = run.spec.unused_window;
    if (run.plan.load.attention != AttentionImplementation::eager &&
        causal_flag_is_enough(run, batch.attention_mask, window, batch.input_ids.size(1)))
        return {};
    if (family.converts_masks) return converted_mask(run, embedded.dtype(), batch, window);
    return llama_mask(run, embedded.dtype(), batch, positions);
}

}  // namespace vramfit::model
