// The linear layer that ZeRO-3 puts in place of torch's.
#pragma once

#include "engine/tensor.hpp"

namespace vramfit::model {

/// deepspeed 0.19.8 runtime/zero/linear.py LinearFunctionForZeroStage3: keeps the parameter itself, no view of its
/// memory, so that the gathered weight can go.
engine::Tensor linear_of_stage3(const engine::Tensor& input, const engine::Tensor& weight, const engine::Tensor& bias);

}  // namespace vramfit::model
