// Scores of rows, and the loss of trl's RewardTrainer.
#pragma once

#include "model/causal_lm/causal_lm.hpp"
#include "model/causal_lm/forward_wrapper.hpp"

namespace vramfit::model {

/// The score of each row, [2 B, 1], as accelerate's wrapper gives it back.
Tensor rewards_of(const Run& run, const Network& network, const Batch& batch, const Place& place);

/// RewardTrainer.compute_loss with its metrics: one forward of chosen and rejected rows.
Tensor reward_loss(const Run& run, const Network& network, const Batch& batch, const Place& place,
                   const ForwardWrapper& wrapper);

}  // namespace vramfit::model
