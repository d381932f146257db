// The loss of trl's BCOTrainer (binary classifier optimization).
#pragma once

#include "model/preferences/reference.hpp"

namespace vramfit::model {

/// BCOTrainer.compute_loss with its metrics: the policy's forward and the reference's over whole logits, of which
/// desirable rows and the others are copied.
Tensor bco_loss(const Run& run, Network& network, const Reference& reference, const Batch& batch, const Place& place);

/// compute_reference_log_probs of a batch, before the trainer has prepared the policy.
std::vector<Tensor> precomputed_classified(const Run& run, Network& policy, const Batch& batch);

}  // namespace vramfit::model
