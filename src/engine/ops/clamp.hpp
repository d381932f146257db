// Clamping and the logistic function, with gradients.
#pragma once

#include "engine/tensor.hpp"

namespace vramfit::engine {

/// t.clamp(max=number).
Tensor clamp_above(const Tensor& t);
/// t.clamp(min=number, max=number).
Tensor clamp_both(const Tensor& t);
/// torch.sigmoid(t).
Tensor sigmoid(const Tensor& t);

}  // namespace vramfit::engine
