// What of preference training is refused.
#pragma once

#include <vector>

#include "model/network/run.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::model {

/// Adds what trl's trainers of preferences were not compared with, and what they stop at.
void refuse_in_preferences(const Run& run, std::vector<Problem>& problems);

}  // namespace vramfit::model
