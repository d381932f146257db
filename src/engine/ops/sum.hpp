// Sums and means over one dimension, with a gradient.
#pragma once

#include <optional>

#include "engine/tensor.hpp"

namespace vramfit::engine {

/// t.sum(dim, keepdim) on the tape; float32 under autocast.
Tensor sum_over(const Tensor& t, int dim, bool keepdim, std::optional<DType> dtype = std::nullopt);
/// t.mean(dim, keepdim).
Tensor mean_over(const Tensor& t, int dim, bool keepdim);

}  // namespace vramfit::engine
