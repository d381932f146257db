// Convolutions of one channel each along a row.
#pragma once

#include "engine/tensor.hpp"

namespace vramfit::engine {

/// F.conv1d(t, weight, bias, padding=padding, groups=channels), with a bias or without, of [batch, channels, length]
/// with a weight of [channels, 1, width], not in float16 (which cuDNN computes).
Tensor conv1d_depthwise(const Tensor& t, const Tensor& weight, const Tensor& bias, Size padding);

}  // namespace vramfit::engine
