// A plan under DeepSpeed against Trainer's arguments.
#pragma once

#include "spec/problems.hpp"
#include "vramfit/base/note.hpp"
#include "vramfit/spec/stack.hpp"
#include "vramfit/spec/train_plan.hpp"

namespace vramfit {

/// Nothing for plans without DeepSpeed.
void check_zero(const TrainPlan& plan, const Stack& stack, Problems& problems);

/// An optimizer of Trainer's whose place DeepSpeed's takes.
void note_replaced_optimizer(const TrainPlan& plan, Notes& notes);

}  // namespace vramfit
