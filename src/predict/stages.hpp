// The stages of a pipeline: all are asked, the answer is that of the one that needs the most.
#pragma once

#include "vramfit/predict/prediction.hpp"

namespace vramfit {

/// The prediction of the stage that is too large, else of the one that reserves the most; `stages` has all of them.
Prediction predict_stages(const ModelSpec& model, const TrainPlan& plan, const Stack& stack, const Device& device);

}  // namespace vramfit
