// Sums and means that leave out what is no number.
#pragma once

#include "engine/tensor.hpp"

namespace vramfit::engine {

/// t.nansum() of a floating tensor.
Tensor nansum(const Tensor& t);
/// t.nanmean(): the sum by the count of numbers.
Tensor nanmean(const Tensor& t);

}  // namespace vramfit::engine
