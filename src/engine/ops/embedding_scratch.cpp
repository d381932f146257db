// aten::embedding_dense_backward with a sort (torch 2.2 to 2.11 ATen/native/cuda/Embedding.cu
// embedding_dense_backward_cuda, EmbeddingBackwardKernel.cu embedding_backward_cuda_kernel).
#include "engine/ops/embedding_scratch.hpp"

#include <algorithm>

#include "engine/ops/copy.hpp"
#include "engine/ops/cub_scratch.hpp"
#include "engine/session.hpp"

namespace vramfit::engine {

namespace {

constexpr Size kRowsPerThread = 10;  // EmbeddingBackwardKernel.cu NROWS_PER_THREAD

/// What depends on whether ids have 64 or 32 bits.
struct Ids {
    Session& session;
    DType dtype;

    bool is_short() const { return dtype == DType::int32; }
    Tensor of(Size n) const { return empty(session, {n}, dtype, Op::embedding_backward); }
    Size sort(Size n) const { return is_short() ? int32_sort_scratch(session, n) : sort_scratch(session, n); }
    Size unique(Size n) const { return is_short() ? int32_unique_scratch(session, n) : unique_scratch(session, n); }
    Size scan(Size n) const { return is_short() ? scan_int32_scratch(session, n) : scan_scratch(session, n); }
};

}  // namespace

Tensor sorted_embedding_backward(Session& session, const Tensor& grad, Size n, const Dims& weight_sizes, Size sorts,
                                 DType dtype) {
    const Ids ids{session, dtype};
    const Size items = n * sorts;
    const Tensor sorted = ids.of(items);
    const Tensor original = ids.of(items);
    {
        const Tensor range = arange(session, items, dtype);
        use_scratch(session, ids.sort(n) * sorts, Op::radix_sort);
    }
    Tensor weight_grad = zeros(session, weight_sizes, grad.dtype());
    const Tensor segment_offsets = ids.of(items);
    const Tensor segments = empty(session, {sorts}, DType::int64, Op::embedding_backward);
    {
        const Tensor keys_out = ids.of(items);
        use_scratch(session, ids.unique(n) * sorts, Op::scan);
    }
    const Size most_segments = std::min(n, weight_sizes[0]);
    const Tensor partials = ids.of(most_segments * sorts);
    const Tensor partials_offset = ids.of(most_segments * sorts);
    use_scratch(session, ids.scan(most_segments) * sorts, Op::scan);
    const Tensor partial_segments = empty(session, {sorts}, DType::int64, Op::embedding_backward);
    const Size most_partials = (n / kRowsPerThread + most_segments) * sorts;
    const Tensor partial_offset = ids.of(most_partials);
    const DType accumulate = grad.dtype() == DType::float64 ? DType::float64 : DType::float32;
    const Tensor per_segment = empty(session, {most_partials, weight_sizes[1]}, accumulate, Op::embedding_backward);
    return weight_grad;
}

}  // namespace vramfit::engine
