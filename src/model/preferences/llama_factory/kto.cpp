// LLaMA-Factory 0.9.5 train/kto/trainer.py CustomKTOTrainer; trl 0.24 trainer/kto_trainer.py KTOTrainer.kto_loss.
#include "model/preferences/llama_factory/kto.hpp"

#include <optional>
#include <utility>

#include "engine/ops/in_place.hpp"
#include "engine/ops/nansum.hpp"
#include "engine/ops/nonzero.hpp"
#include "engine/ops/pointwise.hpp"
#include "model/preferences/kto_terms.hpp"
#include "model/preferences/llama_factory/scores.hpp"
#include "model/preferences/metrics.hpp"
#include "model/preferences/unpaired.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// What forward gives: the row's scores, and their average over its tokens.
struct FactoryRows {
    RowScores scores;
    Tensor average;
};

FactoryRows with_average(RowScores scores) {
    FactoryRows out{std::move(scores), {}};
    out.average = div(out.scores.log_probs, out.scores.tokens);
    out.scores.tokens.reset();
    return out;
}

FactoryRows forward_rows(const Run& run, const Network& network, const Batch& inputs, const Place& place) {
    const Batch batch = copied(inputs);
    return with_average(row_scores(run, network, batch, place));
}

/// The same with the prefix kl_.
FactoryRows forward_kl_rows(const Run& run, const Network& network, const Batch& inputs, const Place& place) {
    const GradMode no_grad(run.session, false);
    const TrainPlan plan = plan_of_kl_rows(run.plan);
    const Run rotated = run.with(plan, sizes_of_kl_rows(run));
    Batch batch = copied(inputs);
    Batch rows = batch;
    rows.input_ids = batch.kl_input_ids;
    rows.attention_mask = batch.kl_attention_mask;
    rows.labels = batch.kl_labels;
    return with_average(row_scores(rotated, network, rows, place));
}

/// What concatenated_forward gives.
struct FactoryUnpaired {
    Tensor chosen, rejected, chosen_logits, rejected_logits, kl, chosen_average;
};

/// Rows of the mask, and those of its opposite.
void divide_rows(const Batch& batch, const Size& desirable, const FactoryRows& target, FactoryUnpaired& out) {
    const Size others = batch.desirable.size(0) - desirable;
    const auto rest = [&](const Tensor& t) {
        const Tensor turned = compare(Op::bitwise_not, batch.desirable);
        return index_by_mask(t, turned, others);
    };
    out.chosen_logits = index_by_mask(target.scores.logits, batch.desirable, desirable);
    out.chosen = index_by_mask(target.scores.log_probs, batch.desirable, desirable);
    out.rejected_logits = rest(target.scores.logits);
    out.rejected = rest(target.scores.log_probs);
    out.chosen_average = index_by_mask(target.average, batch.desirable, desirable);
}

/// `ends_kl`: what the end of the phase of the KL rows is; their logits go behind it.
template <class BeginKl, class EndKl>
FactoryUnpaired concatenated_rows(const Run& run, const Network& network, const Batch& batch, const Place& place,
                                  const BeginKl& begin_kl, const EndKl& end_kl) {
    const FactoryRows target = forward_rows(run, network, batch, place);
    begin_kl();
    FactoryRows of_kl = forward_kl_rows(run, network, batch, place);
    end_kl();
    of_kl.scores.logits.reset();
    FactoryUnpaired out;
    out.kl = of_kl.scores.log_probs;
    divide_rows(batch, desirable_rows(run).rows, target, out);
    return out;
}

FactoryUnpaired of_policy(const Run& run, Network& network, const Batch& batch, const Place& place) {
    std::optional<WithinPhase> phase;
    // torch.utils.checkpoint runs a function as it is where no gradients are recorded.
    std::optional<Scoped<Checkpointing>> whole_layers;
    return concatenated_rows(
        run, network, batch, place,
        [&] {
            phase.emplace(run.session, phase_at(PhaseKind::kl_forward, place));
            whole_layers.emplace(network.checkpointing, Checkpointing::off);
        },
        [&] {
            whole_layers.reset();
            phase.reset();
            begin_loss(run, place);
        });
}

FactoryUnpaired of_factory_reference(const Run& run, Network& network, const Reference& reference, const Batch& batch,
                                     const Place& place) {
    FactoryUnpaired out = on_reference(run, network, reference, [&](const Run& asked, const Network& other) {
        const WithinPhase phase(run.session, phase_at(PhaseKind::reference_forward, place));
        FactoryUnpaired found = concatenated_rows(
            asked, other, batch, place, [] {}, [] {});
        for (Tensor* t : {&found.chosen_logits, &found.rejected_logits, &found.chosen_average}) t->reset();
        return found;
    });
    begin_loss(run, place);
    return out;
}

/// A sum of each of one kind's numbers, if there are rows of it.
void read_sums(const Run& run, const Tensor& rewards, const Tensor& log_probs, const Tensor& logits) {
    if (!run.session.decide("there are rows of a kind", log_probs.size(0) > 0)) return;
    for (const Tensor* t : {&rewards, &log_probs, &logits}) read_item(nansum(*t));
}

}  // namespace

Tensor factory_kto_loss(const Run& run, Network& network, const Reference& reference, const Batch& batch,
                        const Place& place) {
    const FactoryUnpaired policy = of_policy(run, network, batch, place);
    const FactoryUnpaired base = of_factory_reference(run, network, reference, batch, place);
    Tensor kl;
    UnpairedSide desired, others;
    Tensor losses = [&] {
        kl = kl_of(run, policy.kl, base.kl);
        desired = losses_of(run, policy.chosen, base.chosen, kl, true);
        others = losses_of(run, policy.rejected, base.rejected, kl, false);
        return losses_of_both(desired, others);
    }();
    for (UnpairedSide* side : {&desired, &others})
        for (Tensor* t : {&side->log_ratios, &side->losses}) t->reset();
    losses = nanmean(losses);
    if (run.plan.preference.adds_sft && run.session.decide("there are rows of a kind", policy.chosen.size(0) > 0)) {
        const Tensor likelihood = neg(policy.chosen_average);
        const Tensor weighted = mul(nanmean(likelihood), 1.0);
        add_in_place(losses, mul(div(weighted, 1.0), 1.0));
    }
    read_sums(run, desired.rewards, policy.chosen, policy.chosen_logits);
    read_sums(run, others.rewards, policy.rejected, policy.rejected_logits);
    read_item(kl);
    return losses;
}

}  // namespace vramfit::model
