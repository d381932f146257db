// LLaMA-Factory 0.9.5 train/dpo/trainer.py CustomDPOTrainer; trl 0.24 trainer/dpo_trainer.py DPOTrainer.dpo_loss, which
// it calls without a loss_type: all losses with a reference are computed as sigmoid's.
#include "model/preferences/llama_factory/pairs.hpp"

#include "engine/ops/copy.hpp"
#include "engine/ops/in_place.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/split.hpp"
#include "engine/ops/unary.hpp"
#include "engine/ops/view.hpp"
#include "model/preferences/dpo_terms.hpp"
#include "model/preferences/llama_factory/scores.hpp"
#include "model/preferences/metrics.hpp"
#include "model/preferences/rows.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// "ipo", "orpo" and "simpo" take the average of a row's tokens.
bool is_averaged(const Run& run) {
    return run.plan.loop.kind != LoopKind::dpo || run.plan.preference.loss_types.front() == PairLoss::ipo;
}

/// What concatenated_forward gives.
struct FactoryPairs {
    Tensor chosen, rejected, chosen_logits, rejected_logits, chosen_average;
};

FactoryPairs concatenated(const Run& run, const Network& network, const Batch& inputs, const Place& place) {
    const Batch batch = has_reference(run.plan.loop.kind) ? copied(inputs) : inputs;
    RowScores scores = row_scores(run, network, batch, place);
    if (is_averaged(run)) scores.log_probs = div(scores.log_probs, scores.tokens);
    FactoryPairs out;
    const auto halves = chunk(scores.log_probs, 2, 0), logits = chunk(scores.logits, 2, 0);
    out.chosen = halves[0];
    out.rejected = halves[1];
    out.chosen_logits = logits[0];
    out.rejected_logits = logits[1];
    out.chosen_average = is_averaged(run) ? out.chosen : div(out.chosen, chunk(scores.tokens, 2, 0)[0]);
    return out;
}

struct FactoryLosses {
    Tensor losses, chosen_rewards, rejected_rewards;
};

FactoryLosses against_reference(const FactoryPairs& pairs, const PairLogProbs& reference) {
    const PairTerms terms({pairs.chosen, pairs.rejected}, reference);
    FactoryLosses out;
    out.losses = smoothed_losses(terms.logits);
    out.chosen_rewards = rewards_of(pairs.chosen, reference.chosen);
    out.rejected_rewards = rewards_of(pairs.rejected, reference.rejected);
    return out;
}

/// torch.log1p(-torch.exp(logps)).
Tensor log_of_rest(const Tensor& log_probs) { return log1p(neg(exp(log_probs))); }

Tensor odds_ratio_losses(const FactoryPairs& pairs) {
    const Tensor log_odds = [&] {
        const Tensor difference = sub(pairs.chosen, pairs.rejected);
        const Tensor of_rests = [&] {
            const Tensor first = log_of_rest(pairs.chosen);
            return sub(first, log_of_rest(pairs.rejected));
        }();
        return sub(difference, of_rests);
    }();
    const Tensor likelihood = neg(pairs.chosen);
    const Tensor ratio = neg(log_sigmoid(log_odds));
    return add(likelihood, mul(ratio, 1.0));
}

Tensor simpo_losses(const FactoryPairs& pairs) {
    const Tensor ratios = sub(pairs.chosen, pairs.rejected);
    const Tensor logits = sub(ratios, 1.0);
    return neg(log_sigmoid(mul(logits, 1.0)));
}

FactoryLosses without_reference(const Run& run, const FactoryPairs& pairs) {
    FactoryLosses out;
    out.losses = run.plan.loop.kind == LoopKind::orpo ? odds_ratio_losses(pairs) : simpo_losses(pairs);
    out.chosen_rewards = mul(detach(pairs.chosen), 1.0);
    out.rejected_rewards = mul(detach(pairs.rejected), 1.0);
    return out;
}

void log_factory_pairs(const Run& run, const FactoryPairs& pairs, const FactoryLosses& found,
                       const Tensor& likelihood) {
    read_mean(found.chosen_rewards);
    read_mean(found.rejected_rewards);
    read_mean([&] {
        const Tensor higher = compare(Op::gt, found.chosen_rewards, found.rejected_rewards);
        return to(higher, DType::float32);
    }());
    read_mean(sub(found.chosen_rewards, found.rejected_rewards));
    for (const Tensor& t : {pairs.chosen, pairs.rejected, pairs.chosen_logits, pairs.rejected_logits}) read_mean(t);
    if (run.plan.loop.kind != LoopKind::orpo) return;
    read_mean(likelihood);
    read_mean([&] {
        const Tensor odds = sub(found.losses, likelihood);
        return div(odds, 1.0);
    }());
}

}  // namespace

Tensor factory_pair_loss(const Run& run, Network& network, const Reference& reference, const Batch& inputs,
                         const Place& place) {
    const FactoryPairs pairs = concatenated(run, network, inputs, place);
    PairLogProbs compared;
    if (has_reference(run.plan.loop.kind)) {
        compared = of_reference(run, network, reference, place, [&](const Run& asked, const Network& other) {
            return concatenated(asked, other, inputs, place);  // compute_reference_log_probs
        });
        begin_loss(run, place);
    }
    const FactoryLosses found =
        has_reference(run.plan.loop.kind) ? against_reference(pairs, compared) : without_reference(run, pairs);
    const Tensor likelihood = neg(pairs.chosen_average);
    if (run.plan.preference.adds_sft) add_in_place(found.losses, mul(likelihood, 1.0));
    log_factory_pairs(run, pairs, found, likelihood);
    return mean_all(found.losses);
}

}  // namespace vramfit::model
