// torch.nn.functional.rms_norm without a weight.
#pragma once

#include "engine/tensor.hpp"

namespace vramfit::engine {

/// Over the last dimension, in the input's dtype under autocast too (autocast_mode.h has no policy for it).
Tensor rms_norm(const Tensor& t);

}  // namespace vramfit::engine
