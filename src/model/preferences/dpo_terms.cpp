// trl 1.16 trainer/dpo_trainer.py DPOTrainer._compute_loss; temporaries of an expression live as Python keeps them.
#include "model/preferences/dpo_terms.hpp"

#include "engine/ops/clamp.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/nonzero.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/split.hpp"
#include "engine/ops/sum.hpp"
#include "engine/ops/unary.hpp"
#include "engine/ops/view.hpp"
#include "model/preferences/rows.hpp"

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
Tensor averaged_delta(const PairScores& scores) {
    const auto masks = chunk(scores.completion_mask, 2, 0);
    const Tensor chosen = averaged(scores.chosen_log_ratios, masks[0]);
    const Tensor rejected = averaged(scores.rejected_log_ratios, masks[1]);
    return sub(chosen, rejected);
}

Tensor ipo(const PairScores& scores) {
    const Tensor delta = averaged_delta(scores);
    return square(sub(delta, 1.0));
}

Tensor hinge(const Tensor& delta) { return relu(subtracted_from_number(mul(delta, 1.0))); }

Tensor nca_pair(const PairScores& scores) {
    const Tensor chosen = mul(scores.chosen_log_ratios, 1.0);
    const Tensor rejected = mul(scores.rejected_log_ratios, 1.0);
    const Tensor first = neg(log_sigmoid(chosen));
    const Tensor second = mul(log_sigmoid(neg(chosen)), 0.5);
    const Tensor difference = sub(first, second);
    return sub(difference, mul(log_sigmoid(neg(rejected)), 0.5));
}

Tensor robust(const Tensor& delta) {
    const Tensor clean = mul(log_sigmoid(mul(delta, 1.0)), 1.0);
    const Tensor flipped = mul(log_sigmoid(mul(neg(delta), 1.0)), 1.0);
    return div(sub(clean, flipped), 1.0);
}

Tensor bco_pair(const PairScores& scores) {
    const Tensor chosen = mul(scores.chosen_log_ratios, 1.0);
    const Tensor rejected = mul(scores.rejected_log_ratios, 1.0);
    const Tensor first = neg(log_sigmoid(chosen));
    return sub(first, log_sigmoid(neg(rejected)));
}

Tensor sppo_hard(const PairScores& scores) {
    const Tensor winner = square(sub(scores.chosen_log_ratios, 1.0));
    const Tensor loser = square(add(scores.rejected_log_ratios, 1.0));
    return add(winner, loser);
}

Tensor apo_zero(const PairScores& scores) {
    const Tensor chosen = subtracted_from_number(sigmoid(mul(scores.chosen_log_ratios, 1.0)));
    const Tensor rejected = sigmoid(mul(scores.rejected_log_ratios, 1.0));
    return add(chosen, rejected);
}

Tensor apo_down(const PairScores& scores) {
    const Tensor chosen = sigmoid(mul(scores.chosen_log_ratios, 1.0));
    const Tensor rejected = subtracted_from_number(
        sigmoid(mul(sub(scores.chosen_log_ratios, scores.rejected_log_ratios), 1.0)));
    return add(chosen, rejected);
}

Tensor discopop(const Tensor& delta) {
    const Tensor logits = mul(delta, 1.0);
    const Tensor modulation = sigmoid(div(logits, 1.0));
    const Tensor logistic = neg(log_sigmoid(logits));
    const Tensor exponential = exp(neg(logits));
    const Tensor first = mul(logistic, subtracted_from_number(modulation));
    return add(first, mul(exponential, modulation));
}

/// Cross entropy of the chosen completions, expanded over the pairs.
Tensor sft(const Run& run, const PairScores& scores) {
    const Tensor mask = slice(scores.completion_mask, 1, 1, scores.completion_mask.size(1));
    const auto masks = chunk(mask, 2, 0);
    const auto log_probs = chunk(scores.log_probs, 2, 0);
    const Tensor loss = [&] {
        const Tensor mean = [&] {
            const Tensor labelled = to(masks[0], DType::boolean);
            return mean_all(index_by_mask(log_probs[0], labelled, chosen_tokens(run)));
        }();
        return neg(mean);
    }();
    return expand(loss, {pairs_of(run)});
}

}  // namespace

Tensor loss_of_pairs(const Run& run, PairLoss type, const PairScores& scores) {
    switch (type) {
        case PairLoss::sigmoid: return minus_log_sigmoid(scores.delta);
        case PairLoss::hinge: return hinge(scores.delta);
        case PairLoss::ipo: return ipo(scores);
        case PairLoss::nca_pair: return nca_pair(scores);
        case PairLoss::robust: return robust(scores.delta);
        case PairLoss::bco_pair: return bco_pair(scores);
        case PairLoss::sppo_hard: return sppo_hard(scores);
        case PairLoss::apo_zero: return apo_zero(scores);
        case PairLoss::apo_down: return apo_down(scores);
        case PairLoss::discopop: return discopop(scores.delta);
        case PairLoss::sft: return sft(run, scores);
        case PairLoss::sigmoid_norm: return minus_log_sigmoid(averaged_delta(scores));
    }
    return {};
}

}  // namespace vramfit::model
