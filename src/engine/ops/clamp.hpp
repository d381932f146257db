// Clamping and the logistic function, with gradients.
#pragma once

#include "engine/tensor.hpp"

namespace vramfit::engine {

/// t.clamp(max=number).
Tensor clamp_above(const Tensor& t);
/// t.clamp(min=number).
Tensor clamp_below(const Tensor& t);
/// t.clamp(min=number, max=number).
Tensor clamp_both(const Tensor& t);
/// torch.clamp(t, low, high) with bounds of t's sizes that need no gradient.
Tensor clamp_between(const Tensor& t, const Tensor& low, const Tensor& high);
/// t.clamp_(min=number, max=number); t is no view.
void clamp_both_in_place(const Tensor& t);
/// torch.sigmoid(t).
Tensor sigmoid(const Tensor& t);

}  // namespace vramfit::engine
