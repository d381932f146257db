// The logarithm of a sum of exponentials.
#pragma once

#include "engine/tensor.hpp"

namespace vramfit::engine {

/// torch.logsumexp(t, dim=-1, keepdim); float32 under autocast.
Tensor logsumexp(const Tensor& t, bool keepdim = false);
/// torch.logsumexp(t, dim=0).
Tensor logsumexp_over_first(const Tensor& t);

}  // namespace vramfit::engine
