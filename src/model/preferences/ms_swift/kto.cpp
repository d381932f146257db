// ms-swift 4.6 rlhf_trainers/kto_trainer.py KTOTrainer; trl 0.29 experimental/kto/kto_trainer.py
// KTOTrainer.get_batch_loss_metrics, kto_loss.
#include "model/preferences/ms_swift/kto.hpp"

#include <optional>

#include "engine/ops/copy.hpp"
#include "engine/ops/index.hpp"
#include "engine/ops/nansum.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/unary.hpp"
#include "model/preferences/kto_terms.hpp"
#include "model/preferences/metrics.hpp"
#include "model/preferences/ms_swift/scores.hpp"
#include "model/preferences/rows.hpp"
#include "model/preferences/unpaired.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// What forward gives. Rows of both kinds: log-probabilities and sums of logits.
struct SwiftUnpaired {
    Tensor chosen, rejected, chosen_logits, rejected_logits, kl;
};

/// _compute_kl_logps: each prompt with the completion of another row.
Tensor kl_log_probs(const Run& run, const Network& network, const Batch& batch, const Place& place) {
    if (!has_kl(run)) return {};
    const GradMode no_grad(run.session, false);
    const TrainPlan plan = plan_of_kl_rows(run.plan);
    const Run rotated = run.with(plan, sizes_of_kl_rows(run));
    Batch rows;
    rows.input_ids = batch.kl_input_ids;
    rows.attention_mask = batch.kl_attention_mask;
    rows.labels = batch.kl_labels;
    return swift_sums(rotated, network, rows, place).log_probs;
}

/// t[list]: the list goes to the device each time.
Tensor rows_of(const Tensor& t, const Size& count) {
    const Tensor places = to_device(host_tensor(t.session(), {count}, DType::int64));
    t.session().streams.host_waits(0);
    return index_rows(t, places);
}

/// Behind the KL term: the rows themselves.
SwiftUnpaired divided_rows(const Run& run, const Network& network, const Batch& batch, const Place& place,
                           const std::optional<Phase>& forward = {}) {
    const SwiftSums sums = swift_sums(run, network, batch, place, forward);
    const Size desirable = desirable_rows(run).rows, others = run.sizes.batch - desirable;
    SwiftUnpaired out;
    out.chosen = rows_of(sums.log_probs, desirable);
    out.rejected = rows_of(sums.log_probs, others);
    out.chosen_logits = rows_of(sums.logits, desirable);
    out.rejected_logits = rows_of(sums.logits, others);
    return out;
}

SwiftUnpaired of_swift_policy(const Run& run, Network& network, const Batch& batch, const Place& place) {
    Tensor kl;
    {
        const WithinPhase phase(run.session, phase_at(PhaseKind::kl_forward, place));
        // torch.utils.checkpoint runs a function as it is where no gradients are recorded.
        const Scoped<Checkpointing> whole_layers(network.checkpointing, Checkpointing::off);
        kl = kl_log_probs(run, network, batch, place);
    }
    run.session.recorder.begin(phase_at(PhaseKind::inputs, place));
    SwiftUnpaired out = divided_rows(run, network, batch, place);
    out.kl = kl;
    return out;
}

/// With adapters that are off all of it is one phase, else what another network does. What is not asked for goes, but
/// for the last of it.
SwiftUnpaired of_swift_reference(const Run& run, Network& policy, const Reference& reference, const Batch& batch,
                                 const Place& place) {
    const GradMode no_grad(run.session, false);
    const Phase forward = phase_at(PhaseKind::reference_forward, place);
    SwiftUnpaired out = on_reference(run, policy, reference, [&](const Run& asked, const Network& network) {
        std::optional<WithinPhase> whole;
        if (!reference.network) whole.emplace(run.session, forward);
        Tensor kl;
        {
            std::optional<WithinPhase> of_kl;
            if (!whole) of_kl.emplace(run.session, phase_at(PhaseKind::kl_forward, place));
            kl = kl_log_probs(asked, network, batch, place);
        }
        if (!whole) begin_loss(run, place);
        SwiftUnpaired found = divided_rows(asked, network, batch, place, whole ? std::nullopt : std::optional(forward));
        found.kl = kl;
        found.chosen_logits.reset();
        return found;
    });
    begin_loss(run, place);
    return out;
}

/// A sum of each of one kind's numbers over all processes, if there are rows of it.
void read_sums_of(const Run& run, const Tensor& rewards, const Tensor& log_probs, const Tensor& logits) {
    if (!run.session.decide("there are rows of a kind", log_probs.size(0) > 0)) return;
    for (const Tensor* t : {&rewards, &log_probs, &logits}) read_item(nansum(nansum(*t)));
}

}  // namespace

Tensor swift_kto_loss(const Run& run, Network& network, const Reference& reference, const Batch& batch,
                      const Place& place) {
    const Tensor chosen_number = to_device(host_tensor(run.session, {}, DType::int64));
    run.session.streams.host_waits(0);
    const Tensor rejected_number = subtracted_from_number(chosen_number);
    const SwiftUnpaired policy = of_swift_policy(run, network, batch, place);
    const SwiftUnpaired base = of_swift_reference(run, network, reference, batch, place);
    const Tensor kl = kl_of(run, policy.kl, base.kl);
    UnpairedSide desired = losses_of(run, policy.chosen, base.chosen, kl, true);
    UnpairedSide others = losses_of(run, policy.rejected, base.rejected, kl, false);
    const Tensor losses = losses_of_both(desired, others);
    for (UnpairedSide* side : {&desired, &others})
        for (Tensor* t : {&side->log_ratios, &side->losses}) t->reset();
    read_item(kl);
    for (const Tensor* number : {&chosen_number, &rejected_number}) read_item(sum_all(*number));
    read_sums_of(run, desired.rewards, policy.chosen, policy.chosen_logits);
    read_sums_of(run, others.rewards, policy.rejected, policy.rejected_logits);
    return nanmean(losses);
}

}  // namespace vramfit::model
