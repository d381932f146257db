// Running sums of numbers with a fraction.
#pragma once

#include "engine/tensor.hpp"

namespace vramfit::engine {

/// t.cumsum(-1) of float32 numbers (which autocast makes them) in several rows.
Tensor running_sum_last(const Tensor& t);

}  // namespace vramfit::engine
