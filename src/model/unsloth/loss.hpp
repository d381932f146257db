// The fused cross entropy: head, loss and the gradient of the hidden states in the forward, over parts of the tokens.
#pragma once

#include "model/causal_lm/causal_lm.hpp"
#include "model/unsloth/unsloth.hpp"

namespace vramfit::model {

/// compute_loss of Unsloth's trainer.
Tensor unsloth_loss(const Run& run, const Network& network, const Batch& batch, const Tensor& items,
                    const Place& place);

}  // namespace vramfit::model
