// ms-swift 4.6 rlhf_trainers/dpo_trainer.py DPOTrainer.dpo_loss, get_batch_loss_metrics; temporaries of an expression
// live as Python keeps them.
#include "model/preferences/ms_swift/losses.hpp"

#include "engine/ops/clamp.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/unary.hpp"
#include "engine/ops/view.hpp"
#include "model/preferences/rows.hpp"

namespace vramfit::model {

using namespace engine;

Tensor averaged_over_tokens(const Tensor& log_probs, const Tensor& tokens) {
    const Tensor number = [&] {
        const Tensor cast = to(tokens, log_probs.dtype());
        return pointwise_result(cast, cast.dtype(), Op::clamp);
    }();
    return div(log_probs, number);
}

namespace {

/// Those of dpo_loss, and what a loss names besides.
struct Terms : PairTerms {
    using PairTerms::PairTerms;
    std::vector<Tensor> others;

    Tensor held(Tensor t) {
        others.push_back(t);
        return t;
    }
};

Tensor beta_times(const Tensor& t) { return mul(t, 1.0); }

Tensor apo_zero(Terms& t) {
    const Tensor chosen = t.held(subtracted_from_number(sigmoid(beta_times(t.chosen_ratios))));
    const Tensor rejected = t.held(sigmoid(beta_times(t.rejected_ratios)));
    return add(chosen, rejected);
}

Tensor apo_down(Terms& t) {
    const Tensor chosen = t.held(sigmoid(beta_times(t.chosen_ratios)));
    const Tensor rejected =
        t.held(subtracted_from_number(sigmoid(beta_times(sub(t.chosen_ratios, t.rejected_ratios)))));
    return add(chosen, rejected);
}

Tensor losses_of(const Run& run, PairLoss type, const SwiftScores& scores, Terms& terms) {
    switch (type) {
        case PairLoss::hinge: return relu(subtracted_from_number(beta_times(terms.logits)));
        case PairLoss::ipo: return square(sub(terms.logits, 1.0));
        case PairLoss::apo_zero: return apo_zero(terms);
        case PairLoss::apo_down: return apo_down(terms);
        case PairLoss::sft: return expand(scores.likelihood, {pairs_of(run)});
        default: return smoothed_losses(terms.logits);
    }
}

}  // namespace

SwiftLosses swift_losses(const Run& run, PairLoss type, const SwiftScores& scores, const PairLogProbs& reference) {
    Terms terms({scores.chosen, scores.rejected}, reference);
    SwiftLosses out;
    out.losses = losses_of(run, type, scores, terms);
    if (type == PairLoss::sft) {  // zeros_like, until the rewards are there
        out.chosen_rewards = empty(run.session, scores.chosen.sizes(), scores.chosen.dtype(), Op::zeros_like);
        out.rejected_rewards = empty(run.session, scores.rejected.sizes(), scores.rejected.dtype(), Op::zeros_like);
    }
    out.chosen_rewards = rewards_of(scores.chosen, reference.chosen);
    out.rejected_rewards = rewards_of(scores.rejected, reference.rejected);
    return out;
}

}  // namespace vramfit::model
