// How torch.utils.checkpoint is called.
#pragma once

#include <optional>

#include "vramfit/spec/stack.hpp"
#include "vramfit/spec/train_plan.hpp"

namespace vramfit {

/// gradient_checkpointing_kwargs["use_reentrant"] of the training's arguments, as the trainer passes it on.
std::optional<bool> use_reentrant_of(const TrainPlan& plan, const Stack& stack);

}  // namespace vramfit
