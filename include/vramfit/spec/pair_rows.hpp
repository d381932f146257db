// The rows of preference training as collators pad them.
#pragma once

#include <cstdint>

#include "vramfit/spec/train_plan.hpp"

namespace vramfit {

/// What LLaMA-Factory's collators pad rows to (train/dpo/workflow.py and its neighbours, pad_to_multiple_of).
inline constexpr std::int64_t kFactoryMultiple = 8;

/// Makes the longest row a multiple of so many tokens: the others are that much shorter than it.
void pad_rows(BatchPlan& batch, std::int64_t multiple);

}  // namespace vramfit
