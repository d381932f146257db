// Log-probabilities of completions as ms-swift's trainers take them: of the last tokens' logits alone.
#pragma once

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

SwiftScores swift_scores(const Run& run, const Network& network, const Batch& rows, const Place& place,
                         bool is_reference);

}  // namespace vramfit::model
