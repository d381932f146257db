// Liger's Triton kernels in place of a model's own operators.
#pragma once

#include "model/layers/inputs.hpp"

namespace vramfit::model {

/// Whether the Trainer has put them in.
bool uses_liger(const Run& run);

/// LigerRMSNormFunction; `in_place`: the gradient is written over the incoming one.
Tensor liger_rms_norm(const Tensor& input, const Tensor& weight, bool in_place);

/// A norm's forward.
using NormFunction = Tensor (*)(const Norm& norm, const Tensor& hidden);

/// Liger's or the family's own, of the layers, of the queries and keys in them, and behind them.
NormFunction norm_of_layers(const Run& run, NormFunction own);
NormFunction norm_of_heads(const Run& run, NormFunction own);
NormFunction norm_behind_layers(const Run& run, NormFunction own);

/// Whether Liger turns queries and keys.
bool turns_by_liger(const Run& run);

/// LigerSiLUMulFunction and LigerGELUMulFunction: gradients are written over gate and up.
Tensor liger_silu_mul(const Tensor& gate, const Tensor& up);

/// LigerRopeFunction: q and k -- [B, heads, S, D] are rotated in place.
void liger_rope(Tensor& q, Tensor& k, const Rotary& rotary);

}  // namespace vramfit::model
