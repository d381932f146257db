// Categories of memory in the words of someone who fine-tunes.
#pragma once

#include <string>

#include "vramfit/predict/prediction.hpp"

namespace vramfit::report {

/// "weights (4-bit)", "optimizer states (adamw_torch)": what a category is in this run.
std::string words_of(Category category, const Prediction& prediction);

/// "QLoRA", "LoRA", "full fine-tuning".
std::string words_of_method(const TrainPlan& plan);

}  // namespace vramfit::report
