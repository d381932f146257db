// ms-swift 4.6 rlhf_trainers/dpo_trainer.py DPOTrainer.get_batch_loss_metrics, compute_ref_log_probs, compute_loss.
#include "model/preferences/ms_swift/pairs.hpp"

#include <algorithm>

#include "engine/ops/copy.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/unary.hpp"
#include "model/preferences/dpo_terms.hpp"
#include "model/preferences/metrics.hpp"
#include "model/preferences/ms_swift/losses.hpp"
#include "model/preferences/ms_swift/scores.hpp"
#include "model/preferences/rows.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// `total + value * weight`, from 0 on.
void add_weighted(Tensor& total, const Tensor& value) {
    const Tensor weighted = mul(value, 1.0);
    total = total.defined() ? add(total, weighted) : add(weighted, 0.0);
}

/// The sum over loss_type, and what the last one leaves in the function's variables.
struct SummedLosses {
    SwiftLosses total, found;
    SwiftScores given;
    PairLogProbs compared;
};

SummedLosses sum_of_losses(const Run& run, const SwiftScores& scores, const PairLogProbs& reference) {
    SummedLosses out;
    auto& [total, found, given, compared] = out;
    for (const PairLoss type : run.plan.preference.loss_types) {
        given = scores;
        compared = reference;
        if (type == PairLoss::ipo) {
            given.chosen = averaged_over_tokens(scores.chosen, scores.chosen_tokens);
            given.rejected = averaged_over_tokens(scores.rejected, scores.rejected_tokens);
            compared.chosen = averaged_over_tokens(reference.chosen, scores.chosen_tokens);
            compared.rejected = averaged_over_tokens(reference.rejected, scores.rejected_tokens);
        }
        found = swift_losses(run, type, given, compared);
        add_weighted(total.losses, found.losses);
        add_weighted(total.chosen_rewards, found.chosen_rewards);
        add_weighted(total.rejected_rewards, found.rejected_rewards);
    }
    return out;
}

bool has_loss(const Run& run, PairLoss type) {
    const auto& types = run.plan.preference.loss_types;
    return std::find(types.begin(), types.end(), type) != types.end();
}

/// self.accelerator.gather_for_metrics(t).detach().mean().item().
void read_gathered_mean(const Run& run, const Tensor& t) { read_mean(gathered(run, detach(t))); }

void read_pair_metrics(const Run& run, const SwiftScores& scores, const SwiftLosses& found, const Tensor& accuracies) {
    read_gathered_mean(run, found.chosen_rewards);
    read_gathered_mean(run, found.rejected_rewards);
    read_gathered_mean(run, accuracies);
    read_mean([&] {
        const Tensor margins = sub(found.chosen_rewards, found.rejected_rewards);
        return gathered(run, margins);
    }());
    read_gathered_mean(run, scores.chosen);
    read_gathered_mean(run, scores.rejected);
    Tensor mean_logps;  // a loop's variable, bound until the function returns
    if (has_loss(run, PairLoss::ipo)) {
        mean_logps = averaged_over_tokens(scores.chosen, scores.chosen_tokens);
        read_gathered_mean(run, mean_logps);
        mean_logps = averaged_over_tokens(scores.rejected, scores.rejected_tokens);
        read_gathered_mean(run, mean_logps);
    }
    read_gathered_mean(run, scores.chosen_logits);
    read_gathered_mean(run, scores.rejected_logits);
    if (run.plan.preference.adds_sft || has_loss(run, PairLoss::sft)) read_gathered_mean(run, scores.likelihood);
}

}  // namespace

Tensor swift_pair_loss(const Run& run, Network& network, const Reference& reference, const Batch& inputs,
                       const Place& place, const ForwardWrapper& wrapper) {
    const SwiftScores scores = swift_scores(run, network, inputs, place, false, wrapper);
    const PairLogProbs compared =
        of_reference(run, network, reference, place, [&](const Run& asked, const Network& other) {
            return swift_scores(asked, other, inputs, place, true);  // compute_ref_log_probs
        });
    begin_loss(run, place);
    SummedLosses summed = sum_of_losses(run, scores, compared);
    SwiftLosses& found = summed.total;
    const Tensor accuracies = [&] {
        const Tensor higher = compare(Op::gt, found.chosen_rewards, found.rejected_rewards);
        return to(higher, DType::float32);
    }();
    if (run.plan.preference.adds_sft) found.losses = add(found.losses, mul(scores.likelihood, 1.0));
    read_pair_metrics(run, scores, found, accuracies);
    return mean_all(found.losses);
}

}  // namespace vramfit::model
