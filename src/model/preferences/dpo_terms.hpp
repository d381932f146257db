// DPO's loss of each pair, by trl's loss_type.
#pragma once

#include <map>
#include <string_view>

#include "model/preferences/reference.hpp"

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

/// Log-probabilities of chosen and rejected rows, [B] each.
struct PairLogProbs {
    Tensor chosen, rejected;
};

/// The reference's, in a phase of its own: `score` gives what has them, for a run and a network.
template <class Score>
PairLogProbs of_reference(const Run& run, Network& network, const Reference& reference, const Place& place,
                          const Score& score) {
    return on_reference(run, network, reference, [&](const Run& asked, const Network& other) {
        const WithinPhase phase(run.session, phase_at(PhaseKind::reference_forward, place));
        const auto scores = score(asked, other);
        return PairLogProbs{scores.chosen, scores.rejected};
    });
}

/// The variables that trl 0.24's dpo_loss begins with, which ms-swift has written again; they live until it returns.
struct PairTerms {
    Tensor chosen_ratios, rejected_ratios, ratios, reference_ratios, logits;

    PairTerms(const PairLogProbs& policy, const PairLogProbs& reference);
};

/// The same: self.beta * (logps - ref_logps).detach().
Tensor rewards_of(const Tensor& log_probs, const Tensor& reference);

}  // namespace vramfit::model
