// The library's front door.
#pragma once

#include "vramfit/predict/prediction.hpp"

namespace vramfit {

/// Records the run, replays it under the device's usable capacity and names the peaks. Pure: equal arguments give
/// equal answers. Throws Error (invalid, unsupported).
Prediction predict(const ModelSpec& model, const TrainPlan& plan, const Stack& stack, const Device& device);

/// The windows of the same run.
Timeline timeline(const ModelSpec& model, const TrainPlan& plan, const Stack& stack, const Device& device);

}  // namespace vramfit
