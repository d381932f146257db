// Dropout on CUDA.
#pragma once

#include "engine/tensor.hpp"

namespace vramfit::engine {

/// F.dropout(t, p, training=True): the tensor itself for p = 0.
Tensor dropout(const Tensor& t, double p);

}  // namespace vramfit::engine
