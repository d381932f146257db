// torch 2.11 ATen/native/cuda/Indexing.cu: index_put_ that accumulates.
#include "engine/ops/index_put.hpp"

#include <algorithm>
#include <bit>
#include <span>

#include "engine/ops/copy.hpp"
#include "engine/ops/cub_scratch.hpp"
#include "engine/session.hpp"

namespace vramfit::engine {

namespace {

std::int64_t index_bits(const void*, std::span<const std::int64_t> rows) {
    return std::max(1, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(rows[0] - 1))));
}

}  // namespace

Tensor linear_index(const Tensor& ids) {
    const Tensor wrapped = empty(ids.session(), ids.sizes(), DType::int64, Op::remainder);
    return empty(ids.session(), ids.sizes(), DType::int64, Op::mul);
}

// cuda/cub.h get_num_bits of the largest row says how much of an index is sorted.
void put_sorted(const Tensor& ids, const Tensor& value, Size rows) {
    Session& session = ids.session();
    const Tensor values = contiguous(value);  // a sum's gradient is one number, expanded
    if (!session.decide("there are indices to sort", ids.numel() > 0)) return;
    const Tensor sorted = empty(session, ids.sizes(), DType::int64, Op::index_put);
    const Tensor original = empty(session, ids.sizes(), DType::int64, Op::index_put);
    const Tensor range = arange(session, ids.numel());
    const Size bits = apply({index_bits, "index_bits"}, nullptr, {rows});
    session.decide("passes of an index sort", (bits + 7) / 8);
    use_scratch(session, sort_scratch(session, ids.numel(), bits), Op::radix_sort);
}

}  // namespace vramfit::engine
