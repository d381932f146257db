// Scores of a vocabulary in order: torch.sort and torch.topk of long rows, with the kernels' scratch.
#pragma once

#include "engine/ops/index.hpp"

namespace vramfit::engine {

/// torch.sort(t, dim=-1) without a tape: t -- [N, V] float32, dense; places are int64.
Picked sort_rows(const Tensor& t);

/// torch.topk(t, k, dim=-1) without a tape: t -- [..., V] float32; k up to kMostSortedInPlace.
Picked topk_of_rows(const Tensor& t, Size k);

/// Sort.h should_use_small_sort: rows that are sorted in place.
inline constexpr std::int64_t kMostSortedInPlace = 4096;

}  // namespace vramfit::engine
