// torch 2.11 ATen/native/cuda/Sort.cpp, SortStable.cu, TensorTopK.cu; which scratch the kernels take was read off them,
// on each generation of GPUs.
#include "engine/ops/row_order.hpp"

#include <algorithm>
#include <bit>

#include "engine/ops/copy.hpp"
#include "engine/ops/cub_scratch.hpp"

namespace vramfit::engine {

namespace {

constexpr Size kIndex = 8;

Tensor scratch(Session& session, Size bytes, Op op) { return empty(session, {bytes}, DType::uint8, op); }

/// SortStable.cu segmented_sort_large_segments: row by row.
void sort_one_by_one(Session& session, Size rows, Size columns) {
    const Tensor places = scratch(session, columns * kIndex, Op::sort);
    for (Size row = 0; row < rows; row += 1) use_scratch(session, float_sort_scratch(session, columns), Op::radix_sort);
}

/// SortStable.cu segmented_sort_pairs_by_full_sort: all numbers at once, then their rows.
void sort_all(Session& session, Size rows, Size count) {
    const Tensor places = scratch(session, count * kIndex, Op::sort);
    const Tensor sorted_places = scratch(session, count * kIndex, Op::sort);
    {
        const Tensor sorted = scratch(session, count * 4, Op::radix_sort);
        use_scratch(session, float_sort_scratch(session, count), Op::radix_sort);
    }
    const auto bits = std::max(1, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(rows.value() - 1))));
    use_scratch(session, key_sort_scratch(session, count, bits), Op::radix_sort);
}

/// SortStable.cu segmented_sort_pairs.
void sort_segments(Session& session, Size count) {
    const Tensor places = scratch(session, count * kIndex, Op::sort);
    use_scratch(session, segmented_sort_scratch(count), Op::radix_sort);
}

/// TensorTopK.cu should_use_multiblock.
bool takes_many_blocks(Size rows, Size columns) {
    if (rows <= 20) return columns >= 20000;
    if (rows <= 40) return columns >= 10000;
    if (rows <= 80) return columns >= 8000;
    if (rows < 200) return columns >= 5000;
    if (rows < 800) return columns >= 3000;
    return columns >= (rows <= 4000 ? 800 : 400);
}

/// TensorTopK.cu mbtopk::get_items_per_thread: 65536 registers of a multiprocessor, 40 for each of 256 threads.
Size items_per_thread(const Session& session, Size count) {
    constexpr Size kThreads = 256, kBlocks = 65536 / (40 * 256);
    const Size items = ceil_div(count, session.device.multiprocessors * kBlocks * kThreads);
    return std::clamp(items, Size(4), Size(64));
}

/// TensorTopK.cu mbtopk::launch: the k-th value, a semaphore, what is left of k and the digits of each row; counts of
/// all digits in each block, their sums, and what each block takes.
void use_many_blocks(Session& session, Size rows, Size columns) {
    constexpr Size kDigits = 256;
    constexpr Size kScanOfBlocks = 1279;  // DeviceScan::InclusiveSumByKey of as many blocks as there can be here
    const Size blocks = rows * ceil_div(columns, items_per_thread(session, rows * columns) * 256);
    const Tensor kth_values = scratch(session, rows * 4, Op::topk);
    const Tensor left = scratch(session, rows * 8, Op::topk), desired = scratch(session, rows * 8, Op::topk);
    const Tensor counts = scratch(session, blocks * kDigits * 2, Op::topk);
    const Tensor sums = scratch(session, rows * kDigits * 4, Op::topk);
    const Tensor within = scratch(session, blocks * 4, Op::topk), at_kth = scratch(session, blocks * 4, Op::topk);
    for (int scan = 0; scan < 2; ++scan) use_scratch(session, kScanOfBlocks, Op::topk);
}

}  // namespace

Picked sort_rows(const Tensor& t) {
    Session& session = t.session();
    const Size rows = t.size(0), columns = t.size(1);
    Picked out;
    out.values = empty(session, t.sizes(), t.dtype(), Op::sort);
    out.indices = empty(session, t.sizes(), DType::int64, Op::sort);
    if (session.decide("rows are sorted in place", columns <= kMostSortedInPlace)) {
        const Tensor range = arange(session, columns);
    } else if (session.decide("rows are sorted one by one", rows <= 1 || columns >= 1'000'000)) {
        sort_one_by_one(session, rows, columns);
    } else if (session.decide("rows are sorted at once", rows < 128)) {
        sort_all(session, rows, rows * columns);
    } else {
        sort_segments(session, rows * columns);
    }
    return out;
}

Picked topk_of_rows(const Tensor& t, Size k) {
    Picked out = topk(t, k);
    const Size columns = t.size(-1), rows = t.numel() / columns;
    if (t.session().decide("the largest are picked by many blocks", takes_many_blocks(rows, columns)))
        use_many_blocks(t.session(), rows, columns);
    return out;
}

}  // namespace vramfit::engine
