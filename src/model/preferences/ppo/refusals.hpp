// What PPOTrainer was not compared with.
#pragma once

#include <vector>

#include "model/network/run.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::model {

void refuse_in_ppo(const Run& run, std::vector<Problem>& problems);

}  // namespace vramfit::model
