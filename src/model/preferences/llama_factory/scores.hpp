// Log-probabilities of rows as LLaMA-Factory takes them from whole logits in float32.
#pragma once

#include "model/causal_lm/causal_lm.hpp"

namespace vramfit::model {

/// What get_batch_logps gives of rows, and their logits.
struct RowScores {
    Tensor logits;     ///< [R, S, V] float32
    Tensor log_probs;  ///< [R]
    Tensor tokens;     ///< [R] int64, of the completions
};

/// A batch whose tensors are copies: nested_detach(batch, clone=True).
Batch copied(const Batch& batch);

/// The model's logits in float32 and the sums of their log-probabilities.
RowScores row_scores(const Run& run, const Network& network, const Batch& rows, const Place& place);

}  // namespace vramfit::model
