// Processes that do different work: all are asked, the answer is that of the one that needs the most.
#pragma once

#include "vramfit/predict/prediction.hpp"

namespace vramfit {

/// The prediction of the process that is too large, else of the one that reserves the most; of a pipeline, `stages` has
/// all of them.
Prediction predict_stages(const ModelSpec& model, const TrainPlan& plan, const Stack& stack, const Device& device);

}  // namespace vramfit
