// The autograd function that BLOOM has in place of gelu.
#pragma once

#include "engine/tensor.hpp"

namespace vramfit::engine {

/// GeLUFunction.apply(x).
Tensor bloom_gelu(const Tensor& x);

}  // namespace vramfit::engine
