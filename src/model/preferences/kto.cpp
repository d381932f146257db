// trl 1.9 and 1.16 trainer/kto_trainer.py KTOTrainer._compute_loss, _compute_kl_logps, compute_ref_log_probs.
#include "model/preferences/kto.hpp"

#include <array>
#include <optional>

#include "engine/ops/copy.hpp"
#include "engine/ops/index.hpp"
#include "engine/ops/nansum.hpp"
#include "engine/ops/nonzero.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/sum.hpp"
#include "engine/ops/unary.hpp"
#include "engine/ops/view.hpp"
#include "model/losses/balancing_loss.hpp"
#include "model/preferences/kto_terms.hpp"
#include "model/preferences/metrics.hpp"
#include "model/preferences/rows.hpp"
#include "model/preferences/scores.hpp"
#include "model/preferences/unpaired.hpp"
#include "model/preferences/whole_logits.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// The head of the policy, which the reference without adapters shares.
constexpr ScoreParts kUnpairedScores = {.entropy = true, .mean_logits = true};

ScoreParts parts_of(const Reference& reference) { return reference.network ? ScoreParts{} : kUnpairedScores; }

Scored log_probs_alone(const Tensor& log_probs) {
    Scored out;
    out.fused.log_probs = log_probs;
    return out;
}

/// The KL term's rows as the model is given them.
Batch kl_rows(const Run& run, const Batch& batch) {
    Batch rows;
    rows.input_ids = batch.kl_input_ids;
    rows.attention_mask = batch.kl_attention_mask;
    rows.completion_mask = batch.kl_completion_mask;
    return with_labels(run, rows);
}

/// The model's call on them.
Scored kl_outputs(const Run& run, const Network& network, const Batch& rows, const ScoreParts& parts,
                  const Place& place) {
    const TrainPlan plan = plan_of_kl_rows(run.plan);
    const Run rotated = run.with(plan, sizes_of_kl_rows(run));
    return scored_by_reference(rotated, network, rows, parts, place);
}

/// _compute_kl_logps: without gradients, of a policy that is in training.
Tensor kl_scores(const Run& run, const Network& network, const Batch& batch, const ScoreParts& parts,
                 const Place& place) {
    const GradMode no_grad(run.session, false);
    const Batch rows = kl_rows(run, batch);
    Scored outputs = kl_outputs(run, network, rows, parts, place);
    const Tensor log_probs = token_log_probs(rows, outputs);
    return sum_over(log_probs, 1, false);
}

/// The policy's, in a phase of its own, which losses without a KL term enter too.
Tensor kl_of_policy(const Run& run, Network& network, const Batch& batch, const Place& place) {
    Tensor out;
    {
        const WithinPhase phase(run.session, phase_at(PhaseKind::kl_forward, place));
        // torch.utils.checkpoint runs a function as it is where no gradients are recorded.
        const Scoped<Checkpointing> whole_layers(network.checkpointing, Checkpointing::off);
        if (has_kl(run)) out = kl_scores(run, network, batch, kUnpairedScores, place);
    }
    run.session.recorder.begin(phase_at(PhaseKind::inputs, place));
    return out;
}

/// The reference's log-probabilities of the KL term and of the rows; what its forward gave is held with them.
struct UnpairedReference {
    Tensor kl, log_probs, per_token;
    Scored outputs;
};

UnpairedReference of_reference(const Run& run, Network& policy, const Reference& reference, const Batch& batch,
                               const Place& place) {
    UnpairedReference out;
    const Phase forward = phase_at(PhaseKind::reference_forward, place);
    const ScoreParts parts = parts_of(reference);
    on_reference(run, policy, reference, [&](const Run& asked, const Network& network) {
        // With adapters that are off all of it is one phase.
        std::optional<WithinPhase> whole;
        if (!reference.network) whole.emplace(run.session, forward);
        {
            std::optional<WithinPhase> of_kl;
            if (!whole) of_kl.emplace(run.session, phase_at(PhaseKind::kl_forward, place));
            if (has_kl(run)) out.kl = kl_scores(asked, network, batch, parts, place);
        }
        if (!whole) {
            begin_loss(run, place);
            whole.emplace(run.session, forward);
        }
        out.outputs = scored_by_reference(asked, network, batch, parts, place);
        return 0;
    });
    begin_loss(run, place);
    out.per_token = token_log_probs(batch, out.outputs);
    out.log_probs = sum_over(out.per_token, 1, false);
    return out;
}

/// Places of the rows of both kinds: torch.nonzero(labels), torch.nonzero(~labels).
struct RowPlaces {
    Tensor chosen, rejected;
    RowPlaces(const Tensor& labels, const Size& desirable) {
        chosen = view(nonzero(labels, desirable), {desirable});
        const Size others = labels.size(0) - desirable;
        const Tensor turned = compare(Op::bitwise_not, labels);
        rejected = view(nonzero(turned, others), {others});
    }
};

/// Entropy, tokens and mean logits. What stays is what the function's variables hold until it returns.
struct UnpairedMetrics {
    Tensor entropy, entropy_sum, total_tokens, chosen_logits, rejected_logits, chosen_mask, rejected_mask;

    UnpairedMetrics(const Run& run, const Batch& batch, const Scored& outputs, const RowPlaces& places,
                    const DesirableRows& desirable) {
        const bool whole = outputs.shift_logits.defined();
        const Tensor mask = shifted(batch.completion_mask);
        {
            entropy = token_entropy(outputs);
            entropy_sum = sum_all(mul(entropy, mask));
            if (!whole) entropy.reset();
        }
        total_tokens = sum_all(mask);
        entropy_sum = sum_all(entropy_sum);
        total_tokens = sum_all(total_tokens);
        read_ratio(entropy_sum, total_tokens);
        if (run.session.training) read_sum(sum_all(batch.attention_mask));
        const Tensor logits = whole ? detach(outputs.shift_logits) : last_places_of(outputs.fused.mean_logits);
        const auto sum_of = whole ? sum_of_mean_logits : sum_where;
        chosen_logits = index_select(logits, places.chosen);
        rejected_logits = index_select(logits, places.rejected);
        chosen_mask = index_select(mask, places.chosen);
        rejected_mask = index_select(mask, places.rejected);
        std::array<Tensor, 4> sums;
        sums[0] = sum_of(chosen_logits, chosen_mask, desirable.tokens);
        sums[1] = sum_all(chosen_mask);
        sums[2] = sum_of(rejected_logits, rejected_mask, scored_tokens(run) - desirable.tokens);
        sums[3] = sum_all(rejected_mask);
        for (Tensor& sum : sums) {
            read_sum(sum);
            sum.reset();
        }
    }
};

void read_rewards(const UnpairedSide& side) {
    if (!side.log_ratios.defined()) return;
    for (const Tensor& t : {side.rewards, side.log_probs}) read_item(nansum(nansum(t)));
}

}  // namespace

Tensor kto_loss(const Run& run, Network& network, const Reference& reference, const Batch& inputs, const Place& place) {
    const DesirableRows desirable = desirable_rows(run);
    const Tensor chosen_number = sum_all(inputs.desirable);
    const Tensor rejected_number = subtracted_from_number(chosen_number);
    const Tensor kl_policy = kl_of_policy(run, network, inputs, place);
    const Batch batch = with_labels(run, inputs);
    Scored outputs = scored(run, network, batch, kUnpairedScores, place);
    begin_loss(run, place);
    const Tensor per_token = token_log_probs(inputs, outputs);
    const Tensor log_probs = sum_over(per_token, 1, false);
    const RowPlaces places(inputs.desirable, desirable.rows);
    const Tensor chosen = index_select(log_probs, places.chosen), rejected = index_select(log_probs, places.rejected);
    UnpairedReference scores;
    if (run.plan.preference.precompute_ref_log_probs) {
        scores.log_probs = inputs.reference;
        scores.kl = inputs.reference_kl;
    } else {
        scores = of_reference(run, network, reference, batch, place);
    }
    const Tensor reference_chosen = index_select(scores.log_probs, places.chosen);
    const Tensor reference_rejected = index_select(scores.log_probs, places.rejected);
    const Tensor kl = kl_of(run, kl_policy, scores.kl);
    const UnpairedSide desired = losses_of(run, chosen, reference_chosen, kl, true);
    const UnpairedSide others = losses_of(run, rejected, reference_rejected, kl, false);
    const Tensor losses = losses_of_both(desired, others);
    read_item(kl);
    const UnpairedMetrics metrics(run, inputs, outputs, places, desirable);
    read_sum(chosen_number);
    read_sum(rejected_number);
    read_rewards(desired);
    read_rewards(others);
    Tensor loss = nanmean(losses);
    if (outputs.aux_loss().defined()) {
        loss = add(loss, mul(outputs.aux_loss(), 1.0));
        read_mean(outputs.aux_loss());
    }
    return loss;
}

std::vector<Tensor> precomputed_unpaired(const Run& run, Network& policy, const Batch& inputs) {
    const Batch batch = with_labels(run, inputs);
    Scored outputs, of_kl;
    Batch rows;
    Tensor kl;
    on_reference(run, policy, {}, [&](const Run& asked, const Network& network) {
        outputs = scored_by_reference(asked, network, batch, kUnpairedScores, {});
        if (run.stack.dpo_scores_in_chunks())
            outputs = log_probs_alone(outputs.fused.log_probs);  // model(...).log_probs
        if (!has_kl(run)) return 0;
        if (run.stack.dpo_scores_in_chunks()) {
            kl = kl_scores(asked, network, inputs, kUnpairedScores, {});
        } else {
            rows = kl_rows(run, inputs);
            of_kl = kl_outputs(asked, network, rows, kUnpairedScores, {});
        }
        return 0;
    });
    const Tensor per_token = token_log_probs(batch, outputs);
    std::vector<Tensor> out{sum_over(per_token, 1, false)};
    Tensor kl_per_token;
    if (rows.input_ids.defined()) {
        kl_per_token = token_log_probs(rows, of_kl);
        kl = sum_over(kl_per_token, 1, false);
    }
    if (kl.defined()) out.push_back(kl);
    return out;
}

}  // namespace vramfit::model
