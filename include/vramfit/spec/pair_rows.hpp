// The rows of preference training as collators pad them.
#pragma once

#include <cstdint>

#include "vramfit/spec/train_plan.hpp"

namespace vramfit {

/// Makes the longest row a multiple of so many tokens: the others are that much shorter than it.
void pad_rows(BatchPlan& batch, std::int64_t multiple);

}  // namespace vramfit
