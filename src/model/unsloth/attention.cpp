// unsloth 2026.10.7, models/llama.py LlamaAttention_fast_forward, utils/packing.py, utils/attention_dispatch.py: no
// package of attention kernels is there, so it is torch's.
#include "model/unsloth/attention.hpp"

#include <utility>
#include <vector>

#include "engine/ops/attention.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/cub_scratch.hpp"
#include "engine/ops/view.hpp"
#include "model/network/modules.hpp"
#include "model/unsloth/fused_lora.hpp"
#include "model/unsloth/norm.hpp"
#include "model/unsloth/rotary.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// get_packed_info_from_kwargs: where rows end, kept until the next batch's are known.
void find_row_ends(const Run& run, const Batch& batch) {
    RowEnds& rows = run.unsloth->rows;
    if (rows.lengths == batch.row_lengths) return;
    Session& session = run.session;
    Tensor ends = empty(session, {run.sizes.batch + 1}, DType::int32, Op::zeros);
    use_scratch(session, scan_int32_scratch(session, run.sizes.batch), Op::cumsum);
    (void)empty(session, {}, DType::int32, Op::max);
    rows.ends = std::move(ends);
}

/// packed_segment_lengths: the batch's lengths replace those of the one before.
void keep_lengths(const Run& run, const Batch& batch) { run.unsloth->rows.lengths = batch.row_lengths; }

/// _sdpa_gqa_choices: which kernel torch would take, asked with empty tensors once for each need of gradients.
void ask_for_kernels(const Run& run, bool with_gradients) {
    constexpr Size kTokens = 128;
    if (std::exchange(run.unsloth->asked_for_kernels[with_gradients ? 1 : 0], true)) return;
    const ModelSpec& spec = run.spec;
    const DType dtype = run.plan.load.dtype;
    const Dims all{1, spec.num_attention_heads, kTokens, spec.head_dim};
    const Tensor query = empty(run.session, all, dtype);
    const Tensor key = empty(run.session, {1, spec.num_key_value_heads, kTokens, spec.head_dim}, dtype);
    const Tensor expanded = empty(run.session, all, dtype);
}

/// [1, heads, T, head] as [rows, heads, length, head], of some rows. A part of the tokens alone makes a slice.
Tensor by_rows(const Tensor& t, const RowsAlike& rows, Size begin, bool is_part) {
    Tensor of_heads = select(t, 0);
    if (is_part) of_heads = slice(of_heads, 1, begin, begin + rows.count * rows.length);
    const Tensor tokens_first = transpose(of_heads, 0, 1);
    const Tensor split = view(tokens_first, {rows.count, rows.length, tokens_first.size(1), tokens_first.size(2)});
    return transpose(split, 1, 2);
}

/// Whether a kernel other than torch's slowest takes keys of fewer heads.
bool takes_groups(const Run& run) { return run.session.device.capability >= Capability{8, 0}; }

/// Causal attention of grouped heads as they are, or of keys and values that are repeated for all heads.
AttentionArguments arguments_for(const Run& run, const Tensor& query, Tensor& key, Tensor& value) {
    const bool has_groups = query.size(1) != key.size(1);
    if (has_groups) ask_for_kernels(run, needs_grad(query, key, value));
    const bool expands = has_groups && !takes_groups(run);
    if (expands) {
        const Size groups = query.size(1) / key.size(1);
        key = repeat_interleave(key, groups, 1);
        value = repeat_interleave(value, groups, 1);
    }
    AttentionArguments arguments;
    arguments.is_causal = true;
    arguments.enable_gqa = has_groups && !expands;
    return arguments;
}

/// _sdpa_packed_segments: rows of one length that follow each other are attended to at once. [T, heads, head].
Tensor attend_rows(const Run& run, const Tensor& query, Tensor key, Tensor value, const Batch& batch) {
    const AttentionArguments arguments = arguments_for(run, query, key, value);
    const bool several = batch.rows_alike.size() > 1;
    std::vector<Tensor> parts;
    Size begin = 0;
    for (const RowsAlike& rows : batch.rows_alike) {
        const Tensor q = by_rows(query, rows, begin, several), k = by_rows(key, rows, begin, several),
                     v = by_rows(value, rows, begin, several);
        const Tensor out = transpose(scaled_dot_product_attention(q, k, v, {}, arguments), 1, 2);
        parts.push_back(reshape(out, {rows.count * rows.length, out.size(2), out.size(3)}));
        begin = begin + rows.count * rows.length;
    }
    return cat(parts, 0);
}

/// [1, T, heads * head] to [1, heads, T, head].
Tensor by_heads(const Run& run, const Tensor& t) {
    return transpose(view(t, {t.size(0), t.size(1), -1, run.spec.head_dim}), 1, 2);
}

/// models/qwen3.py Qwen3Attention_fast_forward: a norm over each head, of which the projection's output is kept.
Tensor normed_heads(const Run& run, const Norm& norm, const Tensor& projected) {
    if (!norm.weight.defined()) return by_heads(run, projected);
    const Dims heads{projected.size(0), projected.size(1), projected.size(2) / run.spec.head_dim, run.spec.head_dim};
    check_narrow_norm(run);
    return transpose(fused_norm(run, norm, view(projected, heads)), 1, 2);
}

/// Queries, keys and values, by one function or by peft's layers.
FusedProjections project_packed(const Run& run, const DecoderLayer& layer, const Tensor& hidden) {
    if (is_fused({&layer.q, &layer.k, &layer.v})) return fused_qkv(*run.unsloth, layer, hidden);
    FusedProjections out;
    out.q = forward(layer.q, hidden);
    out.k = forward(layer.k, hidden);
    out.v = forward(layer.v, hidden);
    return out;
}

/// Attention of padded rows, causal without a mask while they are trained on: [B, S, heads * head]. Where each head has
/// keys of its own they are copied to lie one after the other.
Tensor attend_padded(const Run& run, Tensor query, Tensor key, Tensor value) {
    const AttentionArguments arguments = arguments_for(run, query, key, value);
    if (!arguments.enable_gqa) {
        query = contiguous(query);
        key = contiguous(key);
        value = contiguous(value);
    }
    const Tensor out = transpose(scaled_dot_product_attention(query, key, value, {}, arguments), 1, 2);
    return reshape(out, {out.size(0), out.size(1), out.size(2) * out.size(3)});
}

/// The output's projection, likewise.
Tensor project_out(const Run& run, const DecoderLayer& layer, const Tensor& out) {
    return is_fused({&layer.o}) ? fused_linear(*run.unsloth, layer.o, out) : forward(layer.o, out);
}

}  // namespace

Tensor packed_attention(const Run& run, const DecoderLayer& layer, const Tensor& hidden, const Batch& batch,
                        const PositionTables& tables) {
    Tensor query, key, value;
    {
        const FusedProjections projected = project_packed(run, layer, hidden);
        query = normed_heads(run, layer.q_norm, projected.q);
        key = normed_heads(run, layer.k_norm, projected.k);
        value = by_heads(run, projected.v);
    }
    if (!run.plan.unsloth.padding_free) {
        turn(query, key, true, {});
        const Tensor attended = attend_padded(run, query, key, value);  // its copies end here
        return project_out(run, layer, attended);
    }
    find_row_ends(run, batch);
    const PositionTables of_layer = tables_for(run, tables, hidden.size(1));
    turn(query, key, false, of_layer);
    keep_lengths(run, batch);
    Tensor out = attend_rows(run, query, key, value, batch);
    out = view(out, {1, out.size(0), out.size(1) * out.size(2)});
    return project_out(run, layer, out);
}

}  // namespace vramfit::model
