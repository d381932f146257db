// What is not known of Unsloth's step.
#pragma once

#include "vramfit/alloc/replay.hpp"
#include "vramfit/spec/assumption.hpp"
#include "vramfit/spec/device.hpp"
#include "vramfit/spec/model_spec.hpp"
#include "vramfit/spec/stack.hpp"
#include "vramfit/spec/train_plan.hpp"
#include "vramfit/trace/program.hpp"

namespace vramfit {

/// On every card: which attention loads, what a packed checkpoint has, what rows are packed of.
void add_unsloth(const ModelSpec& model, const TrainPlan& plan, Assumptions& all);

/// Rows are rarely all of full length: what a batch with fewer tokens may need more. `timeline` is that of the full
/// ones of the program on a card that is large enough.
void add_shorter_batches(const ModelSpec& model, const TrainPlan& plan, const Stack& stack, const Device& device,
                         const Program& program, const Timeline& timeline, Assumptions& all);

}  // namespace vramfit
