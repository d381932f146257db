// Unsloth's RMSNorm as one function.
#pragma once

#include "model/unsloth/unsloth.hpp"

namespace vramfit::model {

/// Keeps its input and one number for each token; its gradient is written over the one that comes in, but of gemma.
Tensor fused_norm(const Run& run, const Norm& norm, const Tensor& hidden);

/// The first norm over at most 128 numbers: kernels for several rows at once are compared with those for one.
void check_narrow_norm(const Run& run);

}  // namespace vramfit::model
