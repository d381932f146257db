// The loss of trl's SFTTrainer in its 1.x releases.
#pragma once

#include "model/causal_lm/causal_lm.hpp"
#include "model/causal_lm/forward_wrapper.hpp"

namespace vramfit::model {

/// SFTTrainer.compute_loss: chunked log-probabilities, the loss from them, the metrics. `items` is undefined in
/// evaluation.
Tensor sft_loss(const Run& run, const Network& network, const Batch& batch, const Tensor& items, const Place& place,
                const ForwardWrapper& wrapper);

}  // namespace vramfit::model
