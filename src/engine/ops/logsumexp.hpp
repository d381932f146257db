// The logarithm of a sum of exponentials over the last dimension.
#pragma once

#include "engine/tensor.hpp"

namespace vramfit::engine {

/// torch.logsumexp(t, dim=-1) of floating numbers.
Tensor logsumexp_last(const Tensor& t);

}  // namespace vramfit::engine
