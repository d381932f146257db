// Whether a plan makes sense for a network and a stack, before anything is recorded.
#pragma once

#include "vramfit/base/note.hpp"
#include "vramfit/spec/model_spec.hpp"
#include "vramfit/spec/stack.hpp"
#include "vramfit/spec/train_plan.hpp"

namespace vramfit {

/// What is worth saying about the plan. Throws one Error with everything that cannot be: what the libraries refuse
/// themselves (invalid, with their reason) and what they do but this program does not (unsupported).
Notes check_plan(const ModelSpec& model, const TrainPlan& plan, const Stack& stack);

}  // namespace vramfit
