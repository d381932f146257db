// Gradients that are added up at the places that an index has picked.
#pragma once

#include "engine/tensor.hpp"

namespace vramfit::engine {

/// computeLinearIndex: one index by the stride of its dimension. ids -- [N] int64.
Tensor linear_index(const Tensor& ids);

/// index_put_with_sort_kernel behind computeLinearIndex: added up in the order of sorted indices. ids -- [N] int64 of
/// `rows` rows that are chosen from; value -- [N, ...].
void put_sorted(const Tensor& ids, const Tensor& value, Size rows);

}  // namespace vramfit::engine
