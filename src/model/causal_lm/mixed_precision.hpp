// What accelerate puts around the model's forward.
#pragma once

#include <optional>

#include "model/causal_lm/causal_lm.hpp"

namespace vramfit::model {

/// What TrainingArguments' bf16 or fp16 computes in; nothing without both.
std::optional<DType> mixed_dtype(const TrainingPlan& training);

/// What accelerate's autocast around the model's forward computes in; Accelerator._prepare_fsdp2 and _prepare_deepspeed
/// put none there.
std::optional<DType> prepared_dtype(const TrainPlan& plan);

/// What weights have while the forward pass runs: FSDP gathers them in its own dtype, and DeepSpeed casts the network.
DType dtype_in_forward(const Run& run);

/// accelerate.prepare_model: autocast around forward, 16-bit outputs turned to float32. Without mixed precision
/// the model as it is.
Output prepared_forward(const Run& run, const Network& network, const Batch& batch, const Tensor& items,
                        const Place& place);

}  // namespace vramfit::model
