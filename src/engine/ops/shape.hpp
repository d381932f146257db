// Dimensions moved, dropped and made by stacking.
#pragma once

#include <span>

#include "engine/tensor.hpp"

namespace vramfit::engine {

/// t.squeeze(dim): the same sizes where the dimension is not 1.
Tensor squeeze(const Tensor& t, int dim);
/// t.permute(order): a view; `order` holds each dimension once.
Tensor permute(const Tensor& t, std::span<const int> order);
/// torch.stack of tensors of equal sizes.
Tensor stack(std::span<const Tensor> tensors, int dim);

/// t.repeat(1, times, 1, ...): the whole one behind the other in one dimension.
Tensor repeat_along(const Tensor& t, int dim, Size times);
/// t.repeat(times, 1, 1, ...) with one dimension more than t has.
Tensor repeat_before(const Tensor& t, Size times);

}  // namespace vramfit::engine
