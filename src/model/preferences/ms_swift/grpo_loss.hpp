// The loss of ms-swift's GRPO.
#pragma once

#include "model/preferences/ms_swift/grpo_scores.hpp"

namespace vramfit::model {

/// GRPOTrainer._compute_loss_and_metrics.
Tensor swift_group_loss(const Run& run, const Network& network, const SwiftGroup& inputs, const Place& place);

}  // namespace vramfit::model
