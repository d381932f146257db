// transformers 4.44 to 5.17 integrations/flash_attention.py and modeling_flash_attention_utils.py; with padding, 5.17.
#include "engine/autocast.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/flash_attn.hpp"
#include "engine/ops/index.hpp"
#include "engine/ops/nonzero.hpp"
#include "engine/ops/pad.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/view.hpp"
#include "model/layers/attention/attention.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// (torch.diff(position_ids) >= 0).all(), which the host reads.
void read_increasing(const Tensor& position_ids) {
    const Size last = position_ids.size(1) - 1;
    Tensor increases;
    {
        const Tensor difference = sub(slice(position_ids, 1, 1, last + 1), slice(position_ids, 1, 0, last));
        increases = compare(Op::ge, difference);
    }
    const Tensor all = reduce(increases, 3, false, DType::boolean, Op::all);
}

/// _is_packed_sequence: the tensor that says so, for a single row; more rows are never packed. The host reads "no".
Tensor is_packed(const Tensor& position_ids, Size rows) {
    const Size all = (1 << position_ids.dim()) - 1;
    Tensor expected;
    {
        const Tensor count = arange(position_ids.session(), position_ids.size(-1));
        const Tensor first = reduce(position_ids, static_cast<DimMask>(all), false, DType::int64, Op::min);
        expected = add(count, first);
    }
    if (rows > 1) return {};
    Tensor distance;
    {
        const Tensor difference = sub(expected, position_ids);
        distance = pointwise_result(difference, DType::int64, Op::abs);
    }
    distance = sum_all(distance);
    return to(distance, DType::boolean);
}

/// get_target_dtype for float32 queries.
DType target_dtype(const Run& run) {
    if (run.session.autocast.enabled) return run.session.autocast.dtype;
    return run.plan.load.dtype;
}

}  // namespace

Tensor look_for_packed_rows(const Run& run, const Tensor& position_ids, Size rows) {
    if (!position_ids.defined() || !run.stack.flash_looks_for_packed_rows()) return {};
    const GradMode no_grad(run.session, false);
    if (!run.stack.flash_compares_positions()) return is_packed(position_ids, rows);
    if (rows == 1 || run.stack.flash_compares_all_rows()) read_increasing(position_ids);
    return {};
}

namespace {

/// _get_unpad_data: places of the tokens, and where each row begins.
struct Unpadded {
    Tensor places, bounds;
};

Unpadded unpadded(const SeenMask& mask) {
    Session& session = mask.places.session();
    const Size rows = mask.places.size(0);
    Unpadded out;
    const Tensor lengths = sum_dim(mask.places, -1, false, DType::int32);
    {
        const Tensor flat = reshape(mask.places, {mask.places.numel()});
        out.places = view(nonzero(flat, mask.seen), {mask.seen});
    }
    {
        const Tensor longest = reduce(lengths, 1, false, DType::int32, Op::max);
        session.streams.host_waits(0);
    }
    const Tensor sums = cumsum_row(lengths);
    out.bounds = empty(session, {rows + 1}, DType::int32, Op::constant_pad_nd);
    return out;
}

/// _index_first_axis: [B, S, H, D] to [tokens, H, D].
Tensor packed_tokens(const Tensor& t, const Tensor& places) {
    const Tensor flat = reshape(t, {t.size(0) * t.size(1), t.size(2), t.size(3)});
    return index_rows(flat, places);
}

/// _upad_input, the kernel and pad_input.
Tensor attend_to_tokens(const Run& run, const Tensor& query, const Tensor& key, const Tensor& value,
                        const SeenMask& mask, double dropout) {
    const Size rows = query.size(0), length = query.size(1);
    Unpadded of_keys = unpadded(mask);
    const Tensor keys = packed_tokens(key, of_keys.places), values = packed_tokens(value, of_keys.places);
    Tensor queries, query_bounds, places;
    const bool is_whole = run.session.decide("queries of all keys", length == key.size(1));
    if (is_whole) {
        queries = packed_tokens(query, of_keys.places);
        query_bounds = of_keys.bounds;
        places = of_keys.places;
    } else {  // one token of each row, behind those of a cache
        query_bounds = arange(run.session, rows + 1, DType::int32);
        places = slice(query_bounds, 0, 0, rows);
        queries = select(query, 1);
        of_keys.places.reset();
    }
    const PackedRows packed{query_bounds, of_keys.bounds, length, key.size(1)};
    const Tensor out = flash_attn_varlen_func(queries, keys, values, packed, dropout);
    const Tensor whole = put_back(out, places, rows * length);
    return view(whole, {rows, length, whole.size(1), whole.size(2)});
}

}  // namespace

Attended flash_attention_2(const Run& run, const Tensor& q, const Tensor& k, const Tensor& v, const SeenMask& mask,
                           const Tensor& position_ids) {
    return {flash_attention_forward(run, {q, k, v}, mask, position_ids, run.attention_dropout()), {}};
}

Tensor flash_attention_forward(const Run& run, const AttentionStates& states, const SeenMask& mask,
                               const Tensor& position_ids, double dropout) {
    const Tensor query = transpose(states.query, 1, 2), key = transpose(states.key, 1, 2);
    Tensor value = transpose(states.value, 1, 2);
    // 5.17.0: values of latent attention have narrower heads, which are filled up.
    const Size width = query.size(-1), of_values = value.size(-1);
    const bool narrower = of_values != width;
    if (narrower) value = pad_end(value, width - of_values);
    Tensor queries = query, keys = key, values = value;
    if (query.dtype() == DType::float32) {
        const DType dtype = target_dtype(run);
        queries = to(query, dtype);
        keys = to(key, dtype);
        values = to(value, dtype);
    }
    const Tensor packed = look_for_packed_rows(run, position_ids, queries.size(0));
    const Tensor out = mask.places.defined() ? attend_to_tokens(run, queries, keys, values, mask, dropout)
                                             : flash_attn_func(queries, keys, values, dropout);
    return narrower ? slice(out, -1, 0, of_values) : out;
}

}  // namespace vramfit::model
