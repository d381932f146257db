// Layer normalization over the last dimension.
#pragma once

#include "engine/tensor.hpp"

namespace vramfit::engine {

/// F.layer_norm(t, (width,), weight, bias): weight, bias -- [width]; everything in float32 under autocast.
Tensor layer_norm(const Tensor& t, const Tensor& weight, const Tensor& bias);

}  // namespace vramfit::engine
