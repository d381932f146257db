// The losses that ms-swift's DPOTrainer computes of each pair.
#pragma once

#include "model/preferences/dpo_terms.hpp"
#include "model/preferences/ms_swift/scores.hpp"

namespace vramfit::model {

/// What DPOTrainer.dpo_loss gives, [B] each.
struct SwiftLosses {
    Tensor losses, chosen_rewards, rejected_rewards;
};

/// dpo_loss of one loss_type. `scores` are the policy's.
SwiftLosses swift_losses(const Run& run, PairLoss type, const SwiftScores& scores, const PairLogProbs& reference);

/// _get_ipo_sequence_logps: the average over a row's tokens.
Tensor averaged_over_tokens(const Tensor& log_probs, const Tensor& tokens);

}  // namespace vramfit::model
