// Sums and means, with the scratch that large reductions take.
#pragma once

#include <cstdint>
#include <utility>

#include "engine/tensor.hpp"

namespace vramfit::engine {

/// Bits: dimension i is reduced.
using DimMask = std::uint32_t;

/// A reduction without a tape: result, then the kernel's scratch (freed at once).
Tensor reduce(const Tensor& t, DimMask dims, bool keepdim, DType dtype, Op op);
/// torch.aminmax of all elements: the smallest and the largest, no tape.
std::pair<Tensor, Tensor> aminmax(const Tensor& t);

/// t.mean(-1, keepdim=True).
Tensor mean_last(const Tensor& t);
/// t.std(-1, unbiased=False, keepdim=True).
Tensor std_last(const Tensor& t);
/// torch.linalg.norm(t, dim); float32 under autocast.
Tensor vector_norm(const Tensor& t, int dim);
/// torch.norm(t, p=1, dim=-1, keepdim=True); float32 under autocast.
Tensor absolute_norm_last(const Tensor& t);
/// t.sum() of a tensor; integers and bools become int64, with a cast first where the types differ.
Tensor sum_all(const Tensor& t);
/// t.mean() over everything.
Tensor mean_all(const Tensor& t);
/// ATen/ExpandUtils.h sum_to: sums broadcast dimensions away.
Tensor sum_to(const Tensor& t, const Dims& sizes);
/// t.sum(dim, keepdim) without a tape.
Tensor sum_dim(const Tensor& t, int dim, bool keepdim, DType dtype);

}  // namespace vramfit::engine
