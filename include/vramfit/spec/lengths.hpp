// Whether rows of different lengths have anything in common.
#pragma once

#include "vramfit/spec/model_spec.hpp"
#include "vramfit/spec/train_plan.hpp"

namespace vramfit {

/// Lengths share no recording, so that there is no formula over them: rows that are generated token by token, and
/// networks that go over a row in rounds.
bool lengths_are_apart(const ModelSpec& model, const TrainPlan& plan);

}  // namespace vramfit
