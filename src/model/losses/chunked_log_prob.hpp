// trl's fused head: log-probabilities of the labels without logits of all positions.
#pragma once

#include "engine/session.hpp"
#include "model/network/network.hpp"

namespace vramfit::model {

/// Per-token results, [N] each.
struct TokenScores {
    Tensor log_probs;
    Tensor entropy;
    Tensor mean_logits;
    Tensor is_top1;
};

/// Which of them are asked for beside the log-probabilities.
struct ScoreParts {
    bool entropy = false;
    bool mean_logits = false;
    bool is_top1 = false;
};

/// trl kernels/chunked_logprob.py ChunkedLogProbFunction: hidden -- [N, H], weight -- [V, H], bias -- [V] or
/// undefined, targets -- [N].
TokenScores chunked_log_prob(const Tensor& hidden, const Tensor& weight, const Tensor& bias, const Tensor& targets,
                             const ScoreParts& parts);

}  // namespace vramfit::model
