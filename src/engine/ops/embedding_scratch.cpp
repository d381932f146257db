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

Tensor indices(Session& session, Size n) { return empty(session, {n}, DType::int64, Op::embedding_backward); }

}  // namespace

Tensor sorted_embedding_backward(Session& session, const Tensor& grad, Size n, const Dims& weight_sizes, Size sorts) {
    const Size items = n * sorts;
    const Tensor sorted = indices(session, items);
    const Tensor original = indices(session, items);
    {
        const Tensor range = arange(session, items);
        use_scratch(session, sort_scratch(session, n) * sorts, Op::radix_sort);
    }
    Tensor weight_grad = zeros(session, weight_sizes, grad.dtype());
    const Tensor segment_offsets = indices(session, items);
    const Tensor segments = indices(session, sorts);
    {
        const Tensor keys_out = indices(session, items);
        use_scratch(session, unique_scratch(session, n) * sorts, Op::scan);
    }
    const Size most_segments = std::min(n, weight_sizes[0]);
    const Tensor partials = indices(session, most_segments * sorts);
    const Tensor partials_offset = indices(session, most_segments * sorts);
    use_scratch(session, scan_scratch(session, most_segments) * sorts, Op::scan);
    const Tensor partial_segments = indices(session, sorts);
    const Size most_partials = (n / kRowsPerThread + most_segments) * sorts;
    const Tensor partial_offset = indices(session, most_partials);
    const DType accumulate = grad.dtype() == DType::float64 ? DType::float64 : DType::float32;
    const Tensor per_segment = empty(session, {most_partials, weight_sizes[1]}, accumulate, Op::embedding_backward);
    return weight_grad;
}

}  // namespace vramfit::engine
