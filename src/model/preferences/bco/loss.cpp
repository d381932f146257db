// trl 0.24 trainer/bco_trainer.py, 0.29 and 1.9 experimental/bco/bco_trainer.py: BCOTrainer.get_batch_loss_metrics,
// forward, get_batch_logps, bco_loss.
#include "model/preferences/bco/loss.hpp"

#include <optional>

#include "engine/autocast.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/in_place.hpp"
#include "engine/ops/index.hpp"
#include "engine/ops/nansum.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/sum.hpp"
#include "engine/ops/unary.hpp"
#include "engine/ops/view.hpp"
#include "model/causal_lm/mixed_precision.hpp"
#include "model/preferences/bco/running_moments.hpp"
#include "model/preferences/metrics.hpp"
#include "model/preferences/rows.hpp"
#include "model/preferences/scores.hpp"
#include "model/preferences/unpaired.hpp"
#include "model/preferences/whole_logits.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// get_batch_logps: [B].
Tensor row_log_probs(const Tensor& logits, const Tensor& given) {
    const Tensor labels = clone(shifted(given));
    const Tensor mask = compare(Op::ne, labels);
    { const Tensor is_none = compare(Op::eq, labels); }
    const Tensor log_probs = selective_log_softmax(slice(logits, 1, 0, logits.size(1) - 1), labels);
    return sum_over(mul(log_probs, mask), 1, false);
}

/// How many rows are desirable, and how many are not.
struct RowCounts {
    Size chosen, rejected;
};

RowCounts counts_of(const Run& run) {
    const Size chosen = desirable_rows(run).rows;
    return {chosen, run.sizes.batch - chosen};
}

/// t[indices, ...] with a list of the host, which goes to the device each time.
Tensor picked(const Run& run, const Tensor& t, const Size& rows) {
    return index_rows(t, moved(run, {rows}, DType::int64));
}

/// What forward() gives.
struct Classified {
    Tensor chosen, rejected, chosen_logits, rejected_logits, aux_loss;

    Classified(const Run& run, const Batch& batch, const Output& outputs, const RowCounts& counts)
        : aux_loss(outputs.aux_loss) {
        const Tensor log_probs = row_log_probs(outputs.logits, batch.labels);
        chosen = picked(run, log_probs, counts.chosen);
        rejected = picked(run, log_probs, counts.rejected);
        chosen_logits = picked(run, outputs.logits, counts.chosen);
        rejected_logits = picked(run, outputs.logits, counts.rejected);
    }
};

/// The call of the model, which is given no labels.
Output outputs_of(const Run& run, const Network& network, const Batch& given, const Place& place) {
    Batch batch;
    batch.input_ids = given.input_ids;
    batch.attention_mask = given.attention_mask;
    return prepared_forward(run, network, batch, {}, place);
}

Classified of_policy(const Run& run, const Network& network, const Batch& batch, const RowCounts& counts,
                     const Place& place) {
    const Output outputs = outputs_of(run, network, batch, place);
    begin_loss(run, place);
    return {run, batch, outputs, counts};
}

/// The reference's log-probabilities. Of its logits those of the rejected rows stay in `_`, the variable that both were
/// given to.
struct OfReference {
    Tensor chosen, rejected, underscore;
};

OfReference kept(const Classified& rows) { return {rows.chosen, rows.rejected, rows.rejected_logits}; }

/// A model of its own has only its forward in the window of the reference.
OfReference of_reference(const Run& run, Network& policy, const Reference& reference, const Batch& batch,
                         const RowCounts& counts, const Place& place) {
    const Phase phase = phase_at(PhaseKind::reference_forward, place);
    OfReference out;
    on_reference(run, policy, reference, [&](const Run& asked, const Network& network) {
        Output outputs;
        {
            const WithinPhase forward(run.session, phase);
            outputs = outputs_of(asked, network, batch, {});
            if (!reference.network) out = kept({asked, batch, outputs, counts});
            if (!reference.network) outputs = {};
        }
        begin_loss(run, place);
        if (reference.network) out = kept({asked, batch, outputs, counts});
        return 0;
    });
    return out;
}

/// The losses of both kinds of rows and what the metrics read.
struct Losses {
    Tensor all, chosen_rewards, rejected_rewards, delta;
};

/// self.beta * (policy - reference).
struct ImpliedRewards {
    Tensor ratios, rewards;
    ImpliedRewards(const Tensor& policy, const Tensor& reference)
        : ratios(sub(policy, reference)), rewards(mul(ratios, 1.0)) {}
};

/// -F.logsigmoid(gap).
Tensor losses_of_gap(const Tensor& gap) {
    const Tensor likelihood = log_sigmoid(gap);
    return neg(likelihood);
}

/// -(rewards - delta).
Tensor turned(const Tensor& rewards, const Tensor& delta) {
    const Tensor gap = sub(rewards, delta);
    return neg(gap);
}

Losses losses_of(const Run& run, const Classified& policy, const OfReference& reference) {
    Losses out;
    const ImpliedRewards chosen(policy.chosen, reference.chosen), rejected(policy.rejected, reference.rejected);
    if (run.session.training) {
        const Tensor both[] = {chosen.rewards, rejected.rewards};
        update_running_moments(detach(cat(both, 0)));
    }
    out.delta = moved(run, {}, DType::float32);
    const Tensor chosen_losses = losses_of_gap(sub(chosen.rewards, out.delta));
    const Tensor rejected_losses = losses_of_gap(turned(rejected.rewards, out.delta));
    const Tensor both[] = {chosen_losses, rejected_losses};
    out.all = cat(both, 0);
    out.chosen_rewards = chosen.rewards;
    out.rejected_rewards = rejected.rewards;
    return out;
}

void read_sums(const Run& run, const Size& rows, const Tensor& rewards, const Tensor& log_probs, const Tensor& logits) {
    if (!run.session.decide("there are rows of a kind", rows > 0)) return;
    for (const Tensor& t : {rewards, log_probs, logits}) read_item(nansum(nansum(t)));
}

}  // namespace

Tensor bco_loss(const Run& run, Network& network, const Reference& reference, const Batch& batch, const Place& place) {
    // autocast(device_type) without a dtype; casts made in the model's own scope live until this one ends.
    std::optional<AutocastScope> outer;
    if (run.plan.trl_casting_to_bf16) outer.emplace(run.session, true, DType::float16);
    const RowCounts counts = counts_of(run);
    const Classified policy = of_policy(run, network, batch, counts, place);
    OfReference scores;
    if (run.plan.preference.precompute_ref_log_probs) {
        scores.chosen = picked(run, batch.reference, counts.chosen);
        scores.rejected = picked(run, batch.reference, counts.rejected);
    } else {
        scores = of_reference(run, network, reference, batch, counts, place);
    }
    const Losses losses = losses_of(run, policy, scores);
    read_mean(losses.delta);
    const Tensor chosen_number = moved(run, {1}, DType::float32), rejected_number = moved(run, {1}, DType::float32);
    read_sum(chosen_number);
    read_sum(rejected_number);
    read_sums(run, counts.chosen, losses.chosen_rewards, policy.chosen, policy.chosen_logits);
    read_sums(run, counts.rejected, losses.rejected_rewards, policy.rejected, policy.rejected_logits);
    Tensor loss = nanmean(losses.all);
    if (policy.aux_loss.defined()) add_in_place(loss, mul(policy.aux_loss, 1.0));
    return loss;
}

std::vector<Tensor> precomputed_classified(const Run& run, Network& policy, const Batch& batch) {
    Output outputs;
    on_reference(run, policy, {}, [&](const Run& asked, const Network& network) {
        outputs = outputs_of(asked, network, batch, {});
        return 0;
    });
    return {row_log_probs(outputs.logits, batch.labels)};
}

}  // namespace vramfit::model
