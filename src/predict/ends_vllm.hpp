// What vLLM in the trainer's process takes: where it does not start, and what of its share the trainer may have.
#pragma once

#include "vramfit/spec/device.hpp"
#include "vramfit/spec/model_spec.hpp"
#include "vramfit/spec/train_plan.hpp"

namespace vramfit {

/// Throws Error (invalid) where the share surely does not hold what vLLM needs to start. `device` is that of one
/// process (of_process).
void check_vllm_starts(const ModelSpec& model, const TrainPlan& plan, const Device& device);

/// The memory that vLLM measures for its activations is free, in the same allocator, while the trainer's step runs.
void widen_by_activations(const ModelSpec& model, const TrainPlan& plan, Assumptions& all);

}  // namespace vramfit
