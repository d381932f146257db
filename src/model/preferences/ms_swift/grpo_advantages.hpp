// Rewards and advantages in ms-swift's GRPO.
#pragma once

#include "model/network/run.hpp"

namespace vramfit::model {

/// GRPOTrainer._compute_rewards_per_func of functions on the host: [G, how many there are].
Tensor swift_rewards(const Run& run, const Size& rows);

/// GRPOTrainer._compute_advantages with its metrics: [G].
Tensor swift_advantages(const Run& run, const Tensor& rewards_per_func);

}  // namespace vramfit::model
