// Log-probabilities of completions as ms-swift's trainers take them: of the last tokens' logits alone.
#pragma once

#include <optional>

#include "model/causal_lm/causal_lm.hpp"
#include "model/causal_lm/forward_wrapper.hpp"
#include "model/network/network.hpp"
#include "model/network/run.hpp"

namespace vramfit::model {

/// What one call of DPOTrainer.concatenated_forward gives. Halves are chosen and rejected rows.
struct SwiftScores {
    Tensor chosen, rejected;                ///< log-probabilities -- [B]
    Tensor chosen_logits, rejected_logits;  ///< means over the completions' tokens
    Tensor chosen_tokens, rejected_tokens;  ///< their numbers -- [B] int64
    Tensor likelihood;                      ///< nll_loss; of the reference undefined
};

/// What KTOTrainer.forward has of each row: sums over its tokens -- [B].
struct SwiftSums {
    Tensor log_probs, logits;
    Output output;  ///< the network's, held as long
};

/// `wrapper`: what lies around the policy.
SwiftScores swift_scores(const Run& run, const Network& network, const Batch& rows, const Place& place,
                         bool is_reference, const ForwardWrapper& wrapper = {});

/// KTOTrainer._get_model_kwargs, the network's forward, a phase of its own if that is given, and get_batch_logps.
SwiftSums swift_sums(const Run& run, const Network& network, const Batch& rows, const Place& place,
                     const std::optional<Phase>& forward = {});

}  // namespace vramfit::model
