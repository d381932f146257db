// The loss of trl's DPOTrainer.
#pragma once

#include "model/preferences/reference.hpp"

namespace vramfit::model {

/// _precompute_ref_logps: the policy before its training, without adapters, over the data. The second batch stands for
/// all later ones.
void precompute_references(const Run& run, Network& policy);

/// DPOTrainer.compute_loss with its metrics: one forward of chosen and rejected rows, and the reference's.
Tensor dpo_loss(const Run& run, Network& network, const Reference& reference, const Batch& batch, const Place& place);

}  // namespace vramfit::model
