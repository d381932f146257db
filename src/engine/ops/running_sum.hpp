// Running sums of numbers with a fraction.
#pragma once

#include "engine/tensor.hpp"

namespace vramfit::engine {

/// t.cumsum(dim) of float32 numbers (which autocast makes them) in several rows.
Tensor running_sum(const Tensor& t);

}  // namespace vramfit::engine
