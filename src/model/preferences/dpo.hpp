// The loss of trl's DPOTrainer.
#pragma once

#include "model/preferences/reference.hpp"

namespace vramfit::model {

/// DPOTrainer.compute_loss with its metrics: one forward of chosen and rejected rows, and the reference's.
Tensor dpo_loss(const Run& run, Network& network, const Reference& reference, const Batch& batch, const Place& place);

}  // namespace vramfit::model
