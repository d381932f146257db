// The loss of trl's SFTTrainer in its 1.x releases.
#pragma once

#include <functional>
#include <span>

#include "model/causal_lm/causal_lm.hpp"

namespace vramfit::model {

/// What lies around the network's forward; empty: nothing.
struct ForwardWrapper {
    std::function<void()> before;
    /// `scored` is what the loss is made of, one of `outputs`, which may be replaced.
    std::function<void(Tensor& scored, std::span<Tensor* const> outputs)> after;
};

/// SFTTrainer.compute_loss: chunked log-probabilities, the loss from them, the metrics. `items` is undefined in
/// evaluation.
Tensor sft_loss(const Run& run, const Network& network, const Batch& batch, const Tensor& items, const Place& place,
                const ForwardWrapper& wrapper);

}  // namespace vramfit::model
