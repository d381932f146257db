// torch 2.11 ATen/native/cuda/TensorTopK.cu mbtopk::launch, TensorTopK.cpp topk_out_cuda, SortStable.cu
// segmented_sort_large_segments.
#include "engine/ops/topk_row.hpp"

#include <algorithm>

#include "engine/ops/cub_scratch.hpp"
#include "engine/session.hpp"
#include "vramfit/base/checked.hpp"

namespace vramfit::engine {

namespace {

/// mbtopk get_items_per_thread: 40 registers a thread, of 65536 on each multiprocessor (compute capability 7.0 and
/// later).
Size blocks_of(const Session& session, Size n) {
    constexpr std::int64_t kThreads = 256, kFewest = 4, kMost = 64;
    constexpr std::int64_t kBlocksAtOnce = 65536 / (40 * kThreads);
    const Size threads = session.device.multiprocessors * kBlocksAtOnce * kThreads;
    const Size items = std::clamp(ceil_div(n, threads), Size(kFewest), Size(kMost));
    return ceil_div(n, items * kThreads);
}

/// Counts of digits by block, and sums of them over the blocks.
void count_digits(Session& session, const Tensor& t) {
    constexpr std::int64_t kDigits = 256;
    const Size blocks = blocks_of(session, t.numel());
    const auto buffer = [&session](Size bytes) { return empty(session, {bytes}, DType::uint8, Op::topk); };
    const Tensor kth_value = buffer(element_size(t.dtype()));
    const Tensor ks_to_find = buffer(2 * 4), desired = buffer(2 * 4);
    const Tensor counts = buffer(blocks * kDigits * 2);
    const Tensor digits = buffer(kDigits * 4);
    const Tensor within = buffer(blocks * 4), kth = buffer(blocks * 4);
    for (int i = 0; i < 2; ++i) use_scratch(session, sum_by_key_scratch(session, blocks), Op::topk);
}

/// A sort out of place, and the places taken in its order.
void sort_picked(Session& session, const Picked& picked) {
    const Dims& sizes = picked.values.sizes();
    const DType dtype = picked.values.dtype();
    const Tensor places = empty(session, sizes, DType::int64, Op::topk);
    const Tensor values = empty(session, sizes, dtype, Op::topk);
    {
        const Tensor range = empty(session, sizes, DType::int64, Op::topk);
        const Size bytes =
            is_half(dtype) ? half_sort_scratch(session, values.numel()) : float_sort_scratch(session, values.numel());
        use_scratch(session, bytes, Op::topk);
    }
    const Tensor gathered = empty(session, sizes, DType::int64, Op::gather);
}

}  // namespace

Picked topk_row(const Tensor& t, Size k) {
    constexpr std::int64_t kMultiblock = 20000;  // should_use_multiblock of one slice
    constexpr std::int64_t kSmallSort = 4096;    // should_use_small_sort: in place
    Session& session = t.session();
    Picked out;
    out.values = empty(session, {k}, t.dtype(), Op::topk);
    out.indices = empty(session, {k}, DType::int64, Op::topk);
    if (session.decide("topk takes several blocks", t.numel() >= kMultiblock)) count_digits(session, t);
    if (session.decide("topk sorts out of place", k > kSmallSort)) sort_picked(session, out);
    return out;
}

}  // namespace vramfit::engine
