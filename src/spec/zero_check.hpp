// A plan under DeepSpeed against Trainer's arguments.
#pragma once

#include "spec/problems.hpp"
#include "vramfit/spec/stack.hpp"
#include "vramfit/spec/train_plan.hpp"

namespace vramfit {

/// Nothing for plans without DeepSpeed.
void check_zero(const TrainPlan& plan, const Stack& stack, Problems& problems);

}  // namespace vramfit
