// The loss of ms-swift's DPOTrainer.
#pragma once

#include "model/causal_lm/forward_wrapper.hpp"
#include "model/preferences/reference.hpp"

namespace vramfit::model {

/// DPOTrainer.get_batch_loss_metrics of a batch of chosen and rejected rows: the policy's forward, the reference's,
/// the loss and its metrics.
Tensor swift_pair_loss(const Run& run, Network& network, const Reference& reference, const Batch& batch,
                       const Place& place, const ForwardWrapper& wrapper);

}  // namespace vramfit::model
