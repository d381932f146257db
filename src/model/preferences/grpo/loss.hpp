// The loss of trl's GRPOTrainer.
#pragma once

#include "model/causal_lm/forward_wrapper.hpp"
#include "model/preferences/grpo/rollout.hpp"

namespace vramfit::model {

/// GRPOTrainer._compute_loss with its metrics.
Tensor grpo_loss(const Run& run, const Network& network, const Rollout& inputs, const Place& place,
                 const ForwardWrapper& wrapper);

}  // namespace vramfit::model
