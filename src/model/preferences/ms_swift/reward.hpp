// The loss of ms-swift's RewardTrainer.
#pragma once

#include "model/causal_lm/causal_lm.hpp"
#include "model/causal_lm/forward_wrapper.hpp"

namespace vramfit::model {

/// RewardTrainer.compute_loss with its metrics, of rows without margins.
Tensor swift_reward_loss(const Run& run, const Network& network, const Batch& batch, const Place& place,
                         const ForwardWrapper& wrapper);

}  // namespace vramfit::model
