// transformers 4.44 to 5.17 integrations/flash_attention.py and modeling_flash_attention_utils.py, without padding.
#include "engine/autocast.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/flash_attn.hpp"
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

Attended flash_attention_2(const Run& run, const Tensor& q, const Tensor& k, const Tensor& v,
                           const Tensor& position_ids) {
    const Tensor query = transpose(q, 1, 2), key = transpose(k, 1, 2), value = transpose(v, 1, 2);
    Tensor queries = query, keys = key, values = value;
    if (query.dtype() == DType::float32) {
        const DType dtype = target_dtype(run);
        queries = to(query, dtype);
        keys = to(key, dtype);
        values = to(value, dtype);
    }
    const Tensor packed = look_for_packed_rows(run, position_ids, queries.size(0));
    return {flash_attn_func(queries, keys, values, run.attention_dropout()), {}};
}

}  // namespace vramfit::model
