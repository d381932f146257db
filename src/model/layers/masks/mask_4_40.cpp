// transformers 4.40 to 4.52: additive masks of models/*/modeling_*.py and modeling_attn_mask_utils.py.
#include <vector>

#include "engine/ops/copy.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/view.hpp"
#include "model/layers/attention/attention_4_40.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// AttentionMaskConverter._ignore_causal_mask_sdpa, for as many keys as queries; asks the device whether all are ones.
bool causal_flag_is_enough(const Run& run, const Tensor& padding, std::optional<Size> window, Size length) {
    if (run.session.decide("mask slides", window && length >= *window)) return false;
    if (!padding.defined()) return true;
    const Tensor ones = compare(Op::eq, padding);
    const Tensor all = reduce(ones, 3, false, DType::boolean, Op::all);
    run.session.streams.host_waits(0);
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

/// What a family's _update_causal_mask does its own way.
struct Style {
    std::optional<Size> window;
    bool excludes = false;     ///< one tensor says which keys are left out, instead of triu
    bool has_function = true;  ///< _prepare_4d_causal_attention_mask_with_cache_position, with variables of its own
    bool opens_rows = true;    ///< for sdpa: rows without a key see all
    bool one_more_key = true;  ///< where nothing is padded
};

Style style_of(const Run& run, const Family& family) {
    const bool mistral = run.spec.model_type == "mistral";
    Style style;
    style.window = family.additive_window(run);
    style.excludes = mistral || style.window.has_value();
    style.has_function = mistral ? run.stack.mistral_masks_have_a_function() : run.stack.masks_have_a_function();
    style.opens_rows = !family.always_masks && run.plan.load.attention != AttentionImplementation::eager;
    style.one_more_key = !family.always_masks;
    return style;
}

/// _prepare_4d_causal_attention_mask_with_cache_position; `locals`: its variables.
Tensor prepared_mask(const Run& run, DType dtype, const Batch& batch, const Tensor& positions, const Style& style,
                     std::vector<Tensor>& locals) {
    Session& session = run.session;
    const Size B = batch.input_ids.size(0), S = batch.input_ids.size(1);
    const Tensor& padding = batch.attention_mask;
    const Size T = padding.defined() || !style.one_more_key ? S : S + 1;
    Tensor mask = empty(session, {S, T}, dtype, Op::full);
    if (S != 1 && !style.excludes) mask = pointwise_result(mask, dtype, Op::triu);
    const Tensor rows = unsqueeze(positions, 1);
    {
        Tensor excluded = compare(Op::gt, arange(session, T), rows);
        if (style.excludes) locals.push_back(excluded);
    }
    if (style.window) {
        const Tensor keys = arange(session, T);
        const Tensor outside = compare(Op::le, keys, sub(rows, 1));
        if (style.has_function) locals.push_back(outside);
    }
    mask = expand(unsqueeze(unsqueeze(mask, 0), 0), {B, 1, S, T});
    if (!padding.defined()) return mask;
    mask = clone(mask);
    locals.push_back(add(mask, rows_of(padding)));
    locals.back() = compare(Op::eq, locals.back());
    { const Tensor filled = masked_fill(mask, locals.back()); }
    return mask;
}

/// XModel._update_causal_mask, beyond the question whether there is one.
Tensor updated_mask(const Run& run, const Family& family, DType dtype, const Batch& batch, const Tensor& positions) {
    const Style style = style_of(run, family);
    std::vector<Tensor> locals;
    Tensor mask = prepared_mask(run, dtype, batch, positions, style, locals);
    if (style.has_function) locals.clear();
    if (style.opens_rows && batch.attention_mask.defined()) mask = unmask_unattended(mask);
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
    padding.session().streams.host_waits(0);
}

}  // namespace

void look_for_right_padding(const Run& run, const Batch& batch) {
    if (run.plan.load.attention != AttentionImplementation::flash_attention_2 || !batch.attention_mask.defined())
        return;
    const GradMode no_grad(run.session, false);
    const Tensor count = sum_all(select(batch.attention_mask, 1));
    run.session.streams.host_waits(0);
}

Tensor mask_4_40(const Run& run, const Family& family, const Tensor& embedded, const Batch& batch,
                 const Tensor& positions) {
    const GradMode no_grad(run.session, false);
    if (run.plan.load.attention == AttentionImplementation::flash_attention_2) {
        if (batch.attention_mask.defined()) look_for_zeros(batch.attention_mask);
        return {};
    }
    const std::optional<Size> window = family.additive_window(run);
    if (run.plan.load.attention != AttentionImplementation::eager && !family.always_masks &&
        causal_flag_is_enough(run, batch.attention_mask, window, batch.input_ids.size(1)))
        return {};
    if (family.converts_masks && run.stack.masks_are_converted())
        return converted_mask(run, embedded.dtype(), batch, window);
    return updated_mask(run, family, embedded.dtype(), batch, positions);
}

}  // namespace vramfit::model
