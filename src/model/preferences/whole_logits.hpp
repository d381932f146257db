// Log-probabilities, entropies and means of whole logits, as trl had them before its fused head.
#pragma once

#include "model/network/run.hpp"

namespace vramfit::model {

/// selective_log_softmax(logits, labels): [R, S - 1].
Tensor selective_log_softmax(const Tensor& logits, const Tensor& labels);

/// The same, and 0.0 where the completion is not: logits -- [R, S - 1, V], labels and mask
/// -- [R, S - 1].
Tensor completion_log_probs(const Tensor& logits, const Tensor& labels, const Tensor& mask,
                            engine::Op opposite = engine::Op::eq);

/// entropy_from_logits(logits): [R, S - 1], no tape.
Tensor entropy_of(const Tensor& logits);

/// logits[mask.bool()].mean(-1).sum(), of so many places.
Tensor sum_of_mean_logits(const Tensor& logits, const Tensor& mask, const Size& count);

/// mask.sum(-1) of the tokens that are scored: [R].
Tensor tokens_of_rows(const Tensor& mask);

}  // namespace vramfit::model
