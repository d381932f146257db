// Unsloth's RMSNorm as one function.
#pragma once

#include "model/unsloth/unsloth.hpp"

namespace vramfit::model {

/// Keeps its input and one number for each token; its gradient is written over the one that comes in.
Tensor fused_norm(const Norm& norm, const Tensor& hidden);

}  // namespace vramfit::model
