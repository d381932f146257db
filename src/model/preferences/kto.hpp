// The loss of trl's KTOTrainer.
#pragma once

#include "model/preferences/reference.hpp"

namespace vramfit::model {

/// KTOTrainer.compute_loss with its metrics: the KL term's forward, the policy's, and the reference's of both.
Tensor kto_loss(const Run& run, Network& network, const Reference& reference, const Batch& batch, const Place& place);

/// What compute_ref_log_probs gives of a batch before the trainer has prepared the policy.
std::vector<Tensor> precomputed_unpaired(const Run& run, Network& policy, const Batch& batch);

}  // namespace vramfit::model
