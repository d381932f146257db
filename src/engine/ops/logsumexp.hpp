// The logarithm of a sum of exponentials.
#pragma once

#include "engine/tensor.hpp"

namespace vramfit::engine {

/// torch.logsumexp(t, dim=-1); float32 under autocast.
Tensor logsumexp(const Tensor& t);
/// torch.logsumexp(t, dim=0).
Tensor logsumexp_over_first(const Tensor& t);

}  // namespace vramfit::engine
