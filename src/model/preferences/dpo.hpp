// The loss of trl's DPOTrainer.
#pragma once

#include "model/causal_lm/forward_wrapper.hpp"
#include "model/preferences/reference.hpp"

namespace vramfit::model {

/// What compute_ref_log_probs gives of a batch before the trainer has prepared the policy: both halves are views of it.
std::vector<Tensor> precomputed_pairs(const Run& run, Network& policy, const Batch& inputs);

/// DPOTrainer.compute_loss with its metrics: one forward of chosen and rejected rows, and the reference's.
Tensor dpo_loss(const Run& run, Network& network, const Reference& reference, const Batch& batch, const Place& place,
                const ForwardWrapper& wrapper);

}  // namespace vramfit::model
