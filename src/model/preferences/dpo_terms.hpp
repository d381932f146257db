// DPO's loss of each pair, by trl's loss_type.
#pragma once

#include "model/network/run.hpp"

namespace vramfit::model {

/// What the terms are made of, [B] each.
struct PairScores {
    Tensor chosen_log_ratios;  ///< of the policy and the reference
    Tensor rejected_log_ratios;
    Tensor delta;
    Tensor completion_mask;  ///< [2 B, S]
    Tensor log_probs;        ///< per token, [2 B, S - 1]
};

/// per_sequence_loss -- [B].
Tensor loss_of_pairs(const Run& run, PairLoss type, const PairScores& scores);

}  // namespace vramfit::model
