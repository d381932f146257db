// A batched product added to a tensor.
#pragma once

#include "engine/tensor.hpp"

namespace vramfit::engine {

/// torch.baddbmm(self, a, b, alpha=alpha): a -- [B, M, K], b -- [B, K, N], self -- [B, M, N], or without a gradient
/// what is broadcast to it.
Tensor baddbmm(const Tensor& self, const Tensor& a, const Tensor& b, double alpha);

}  // namespace vramfit::engine
