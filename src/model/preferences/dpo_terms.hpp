// DPO's loss of each pair, by trl's loss_type.
#pragma once

#include <map>
#include <string_view>

#include "model/network/run.hpp"

namespace vramfit::model {

/// What the terms are made of, [B] each.
struct PairScores {
    Tensor chosen_log_ratios;  ///< of the policy and the reference
    Tensor rejected_log_ratios;
    Tensor delta;
    Tensor completion_mask;  ///< [2 B, S]
    Tensor log_probs;        ///< per token, [2 B, S - 1]
    Tensor logits;           ///< the policy's, [2 B, S - 1, V]; undefined where trl has its fused head
    Tensor labels;           ///< [2 B, S - 1]
};

/// Variables of the Python function by their names: they live until it returns.
using Variables = std::map<std::string_view, Tensor>;

/// per_sequence_loss -- [B]. What else is given a name goes to `names`.
Tensor loss_of_pairs(const Run& run, PairLoss type, const PairScores& scores, Variables& names);

/// -logsigmoid(beta * logits) * (1 - label_smoothing) - logsigmoid(-beta * logits) * label_smoothing.
Tensor smoothed_losses(const Tensor& logits);

/// trl 0.24 dpo_loss: self.beta * (logps - ref_logps).detach().
Tensor rewards_of(const Tensor& log_probs, const Tensor& reference);

/// The same: logps - (not self.reference_free) * ref_logps.
Tensor log_ratios_of(const Tensor& log_probs, const Tensor& reference);

}  // namespace vramfit::model
