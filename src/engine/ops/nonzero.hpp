// torch.nonzero of a mask, of which the host reads how many places are set.
#pragma once

#include "engine/tensor.hpp"

namespace vramfit::engine {

/// aten::nonzero without a place that is set: the counters and cub's scratch.
void nonzero(const Tensor& mask);

}  // namespace vramfit::engine
