// Negative log-likelihood and small helpers of the loss.
#pragma once

#include "engine/tensor.hpp"

namespace vramfit::engine {

enum class Reduction : std::uint8_t { mean, sum };

/// F.cross_entropy(logits, target): logits -- [T, V], target -- [T]. The caller's dtype; float32 under autocast, behind
/// the log-softmax.
Tensor cross_entropy(const Tensor& logits, const Tensor& target);

/// F.nll_loss(log_probabilities, target): [T, V] and [T]; in float32 under autocast.
Tensor nll_loss(const Tensor& log_probabilities, const Tensor& target);

/// F.mse_loss(input, target) of equal sizes: in float32 under autocast.
Tensor mse_loss(const Tensor& input, const Tensor& target);

/// F.pad of one place at the end of the last dimension, with a number; no tape.
Tensor pad_last(const Tensor& t, Size places);

}  // namespace vramfit::engine
