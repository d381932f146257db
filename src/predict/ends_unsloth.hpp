// What is not known of Unsloth's step, and what it does on a card with little left.
#pragma once

#include "vramfit/alloc/replay.hpp"
#include "vramfit/spec/assumption.hpp"
#include "vramfit/spec/device.hpp"
#include "vramfit/spec/model_spec.hpp"
#include "vramfit/spec/train_plan.hpp"
#include "vramfit/trace/program.hpp"

namespace vramfit {

/// On every card: which attention loads, what a packed checkpoint has, what rows are packed of.
void add_unsloth(const ModelSpec& model, const TrainPlan& plan, Assumptions& all);

/// What leaves the GPU, or is not made, where little of it is left. `unlimited` is a replay on a card that is large
/// enough.
void add_unsloth_on_card(const ModelSpec& model, const TrainPlan& plan, const Device& device, const Program& program,
                         const Timeline& unlimited, Assumptions& all);

}  // namespace vramfit
