// What of Unsloth's step is refused by the card; the plan's check has said the rest (spec/plan_check_unsloth.cpp).
#pragma once

#include <vector>

#include "model/network/run.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::model {

/// Adds cards that the step was not compared with, and a precision that Unsloth does not take there.
void refuse_in_unsloth(const Run& run, std::vector<Problem>& problems);

}  // namespace vramfit::model
