// trl 1.9 and 1.16 trainer/dpo_trainer.py DPOTrainer._compute_loss; temporaries of an expression live as Python keeps
// them.
#include "model/preferences/dpo_terms.hpp"

#include "engine/ops/clamp.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/loss.hpp"
#include "engine/ops/nonzero.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/split.hpp"
#include "engine/ops/sum.hpp"
#include "engine/ops/unary.hpp"
#include "engine/ops/view.hpp"
#include "model/preferences/rows.hpp"
#include "model/preferences/scores.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// -F.logsigmoid(self.beta * t).
Tensor minus_log_sigmoid(const Tensor& t) { return neg(log_sigmoid(mul(t, 1.0))); }

/// scores / mask.sum(dim=1).clamp(min=1.0): the number promotes the counts.
Tensor averaged(const Tensor& scores, const Tensor& mask) {
    const Tensor number = [&] {
        const Tensor sum = sum_over(mask, 1, false);
        return pointwise_result(sum, DType::float32, Op::clamp);
    }();
    return div(scores, number);
}

/// The difference of average scores: ipo, sigmoid_norm.
Tensor averaged_delta(const PairScores& scores, Variables& names) {
    const auto masks = chunk(scores.completion_mask, 2, 0);
    names["chosen_avg_score"] = averaged(scores.chosen_log_ratios, masks[0]);
    names["rejected_avg_score"] = averaged(scores.rejected_log_ratios, masks[1]);
    return sub(names["chosen_avg_score"], names["rejected_avg_score"]);
}

Tensor ipo(const PairScores& scores, Variables& names) {
    names["ipo_delta"] = averaged_delta(scores, names);
    return square(sub(names["ipo_delta"], 1.0));
}

Tensor hinge(const Tensor& delta) { return relu(subtracted_from_number(mul(delta, 1.0))); }

void name_rewards(const PairScores& scores, Variables& names) {
    names["chosen_rewards"] = mul(scores.chosen_log_ratios, 1.0);
    names["rejected_rewards"] = mul(scores.rejected_log_ratios, 1.0);
}

Tensor nca_pair(const PairScores& scores, Variables& names) {
    name_rewards(scores, names);
    const Tensor difference = [&] {
        const Tensor first = neg(log_sigmoid(names["chosen_rewards"]));
        const Tensor second = mul(log_sigmoid(neg(names["chosen_rewards"])), 0.5);
        return sub(first, second);
    }();
    return sub(difference, mul(log_sigmoid(neg(names["rejected_rewards"])), 0.5));
}

Tensor robust(const Tensor& delta, Variables& names) {
    names["clean_loss_term"] = mul(log_sigmoid(mul(delta, 1.0)), 1.0);
    names["flipped_loss_term"] = mul(log_sigmoid(mul(delta, 1.0)), 1.0);
    return div(sub(names["clean_loss_term"], names["flipped_loss_term"]), 1.0);
}

Tensor bco_pair(const PairScores& scores, Variables& names) {
    name_rewards(scores, names);
    const Tensor first = neg(log_sigmoid(names["chosen_rewards"]));
    return sub(first, log_sigmoid(neg(names["rejected_rewards"])));
}

Tensor sppo_hard(const PairScores& scores, Variables& names) {
    names["winner_margin_error"] = square(sub(scores.chosen_log_ratios, 1.0));
    names["loser_margin_error"] = square(add(scores.rejected_log_ratios, 1.0));
    return add(names["winner_margin_error"], names["loser_margin_error"]);
}

Tensor apo_zero(const PairScores& scores, Variables& names) {
    names["losses_chosen"] = subtracted_from_number(sigmoid(mul(scores.chosen_log_ratios, 1.0)));
    names["losses_rejected"] = sigmoid(mul(scores.rejected_log_ratios, 1.0));
    return add(names["losses_chosen"], names["losses_rejected"]);
}

Tensor apo_down(const PairScores& scores, Variables& names) {
    names["losses_chosen"] = sigmoid(mul(scores.chosen_log_ratios, 1.0));
    names["losses_rejected"] =
        subtracted_from_number(sigmoid(mul(sub(scores.chosen_log_ratios, scores.rejected_log_ratios), 1.0)));
    return add(names["losses_chosen"], names["losses_rejected"]);
}

Tensor discopop(const Tensor& delta, Variables& names) {
    names["logits"] = mul(delta, 1.0);
    names["log_ratio_modulation"] = sigmoid(div(names["logits"], 1.0));
    names["logistic_component"] = neg(log_sigmoid(names["logits"]));
    names["exp_component"] = exp(neg(names["logits"]));
    const Tensor first = mul(names["logistic_component"], subtracted_from_number(names["log_ratio_modulation"]));
    return add(first, mul(names["exp_component"], names["log_ratio_modulation"]));
}

/// F.cross_entropy(chosen_logits[chosen_mask.bool()], chosen_labels[chosen_mask.bool()]).
Tensor cross_entropy_of_chosen(const Run& run, const PairScores& scores, const Tensor& mask) {
    const auto picked = [&](const Tensor& t) {
        const Tensor labelled = to(mask, DType::boolean);
        return index_by_mask(chunk(t, 2, 0)[0], labelled, chosen_tokens(run));
    };
    const Tensor logits = picked(scores.logits);
    return cross_entropy(logits, picked(scores.labels));
}

/// Cross entropy of the chosen completions, expanded over the pairs.
Tensor sft(const Run& run, const PairScores& scores, Variables& names) {
    const Tensor mask = shifted(scores.completion_mask);
    const auto masks = chunk(mask, 2, 0);
    if (scores.logits.defined()) {
        names["batch_loss"] = cross_entropy_of_chosen(run, scores, masks[0]);
        return expand(names["batch_loss"], {pairs_of(run)});
    }
    const auto log_probs = chunk(scores.log_probs, 2, 0);
    names["batch_loss"] = [&] {
        const Tensor mean = [&] {
            const Tensor labelled = to(masks[0], DType::boolean);
            return mean_all(index_by_mask(log_probs[0], labelled, chosen_tokens(run)));
        }();
        return neg(mean);
    }();
    return expand(names["batch_loss"], {pairs_of(run)});
}

}  // namespace

Tensor loss_of_pairs(const Run& run, PairLoss type, const PairScores& scores, Variables& names) {
    switch (type) {
        case PairLoss::sigmoid: return minus_log_sigmoid(scores.delta);
        case PairLoss::hinge: return hinge(scores.delta);
        case PairLoss::ipo: return ipo(scores, names);
        case PairLoss::nca_pair: return nca_pair(scores, names);
        case PairLoss::robust: return robust(scores.delta, names);
        case PairLoss::bco_pair: return bco_pair(scores, names);
        case PairLoss::sppo_hard: return sppo_hard(scores, names);
        case PairLoss::apo_zero: return apo_zero(scores, names);
        case PairLoss::apo_down: return apo_down(scores, names);
        case PairLoss::discopop: return discopop(scores.delta, names);
        case PairLoss::sft: return sft(run, scores, names);
        case PairLoss::sigmoid_norm: {
            names["delta"] = averaged_delta(scores, names);
            return minus_log_sigmoid(names["delta"]);
        }
    }
    return {};
}

Tensor rewards_of(const Tensor& log_probs, const Tensor& reference) {
    return mul(detach(sub(log_probs, reference)), 1.0);
}

namespace {

/// logps - (not self.reference_free) * ref_logps.
Tensor log_ratios_of(const Tensor& log_probs, const Tensor& reference) { return sub(log_probs, mul(reference, 1.0)); }

}  // namespace

PairTerms::PairTerms(const PairLogProbs& policy, const PairLogProbs& reference) {
    chosen_ratios = log_ratios_of(policy.chosen, reference.chosen);
    rejected_ratios = log_ratios_of(policy.rejected, reference.rejected);
    ratios = sub(policy.chosen, policy.rejected);
    reference_ratios = sub(reference.chosen, reference.rejected);
    logits = sub(ratios, reference_ratios);
}

Tensor smoothed_losses(const Tensor& logits) {
    // Python lets go of each operand once its operator is done.
    const auto weighted = [&logits](bool negated) {
        Tensor t = mul(logits, 1.0);
        t = log_sigmoid(t);
        if (negated) t = neg(t);
        t = mul(t, 1.0);
        return t;
    };
    const Tensor first = weighted(true);
    return sub(first, weighted(false));
}

}  // namespace vramfit::model
