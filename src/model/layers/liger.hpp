// Liger's Triton kernels in place of a model's own operators.
#pragma once

#include "model/layers/inputs.hpp"

namespace vramfit::model {

/// Whether the Trainer has put them in.
bool uses_liger(const Run& run);

/// LigerRMSNormFunction with Llama's casts: the gradient is written over the incoming one.
Tensor liger_rms_norm(const Norm& norm, const Tensor& hidden);

/// LigerSiLUMulFunction: gradients are written over gate and up.
Tensor liger_silu_mul(const Tensor& gate, const Tensor& up);

/// LigerRopeFunction: q and k -- [B, heads, S, D] are rotated in place.
void liger_rope(Tensor& q, Tensor& k, const Rotary& rotary);

}  // namespace vramfit::model
