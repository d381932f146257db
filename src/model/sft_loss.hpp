// The loss of trl's SFTTrainer in its 1.x releases.
#pragma once

#include "model/causal_lm.hpp"
#include "model/ddp.hpp"

namespace vramfit::model {

/// SFTTrainer.compute_loss: chunked log-probabilities, the loss from them, the metrics. `ddp`: around the network, or
/// nullptr; `sync`: gradients are reduced in the backward that follows.
Tensor sft_loss(const Run& run, const Network& network, const Batch& batch, const Tensor& items, const Place& place,
                Ddp* ddp, bool sync);

}  // namespace vramfit::model
