// The loss of trl's RLOOTrainer, whose ratios are those of whole completions.
#pragma once

#include "model/causal_lm/forward_wrapper.hpp"
#include "model/preferences/grpo/rollout.hpp"

namespace vramfit::model {

/// RLOOTrainer._compute_loss with its metrics.
Tensor rloo_loss(const Run& run, const Network& network, const Rollout& inputs, const Place& place,
                 const ForwardWrapper& wrapper);

}  // namespace vramfit::model
