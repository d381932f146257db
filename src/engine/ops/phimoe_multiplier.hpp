// The autograd function that Phi-MoE's router ends with.
#pragma once

#include "engine/tensor.hpp"

namespace vramfit::engine {

/// PhimoeMultiplier.apply(scores, multiplier, selected, gates, mask_for_one): scores and gates -- [T, E], the others
/// [T, 1].
Tensor phimoe_multiplier(const Tensor& scores, const Tensor& multiplier, const Tensor& selected, const Tensor& gates,
                         const Tensor& mask_for_one);

}  // namespace vramfit::engine
