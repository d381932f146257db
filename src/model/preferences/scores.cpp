// trl 1.9 and 1.16 trainer/dpo_trainer.py and kto_trainer.py _compute_loss: the calls of the model.
#include "model/preferences/scores.hpp"

#include <optional>

#include "engine/autocast.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/view.hpp"
#include "model/causal_lm/mixed_precision.hpp"
#include "model/losses/balancing_loss.hpp"
#include "model/preferences/rows.hpp"
#include "model/preferences/whole_logits.hpp"

namespace vramfit::model {

using namespace engine;

Scored scored(const Run& run, const Network& network, const Batch& batch, const ScoreParts& parts, const Place& place) {
    Scored out;
    if (!run.stack.dpo_scores_in_chunks()) {
        out.whole = prepared_forward(run, network, batch, {}, place);
        return out;
    }
    std::optional<AutocastScope> autocast;
    if (const auto dtype = prepared_dtype(run.plan)) autocast.emplace(run.session, true, *dtype);
    out.fused = fused_forward(run, network, batch, scored_tokens(run), parts, place);
    return out;
}

Scored scored_by_reference(const Run& run, const Network& network, const Batch& batch, const ScoreParts& parts,
                           const Place& place) {
    const bool asks_anyway = run.spec.mixture && run.spec.mixture->output_router_logits;
    if (!balances_experts(run) || asks_anyway) return scored(run, network, batch, parts, place);
    TrainPlan plan = run.plan;
    plan.training.router_aux_loss_coef = 0;
    const Run asked = run.with(plan);
    return scored(asked, network, batch, parts, place);
}

Batch with_labels(const Run& run, const Batch& batch) {
    Batch out = batch;
    if (!run.stack.dpo_scores_in_chunks()) return out;
    const Tensor is_prompt = compare(Op::eq, batch.completion_mask);
    out.labels = masked_fill(batch.input_ids, is_prompt);
    return out;
}

Tensor token_log_probs(const Batch& batch, Scored& outputs) {
    if (outputs.fused.log_probs.defined()) return last_places_of(outputs.fused.log_probs);
    const Tensor& logits = outputs.whole.logits;
    outputs.shift_logits = slice(logits, 1, 0, logits.size(1) - 1);
    return completion_log_probs(outputs.shift_logits, shifted(batch.input_ids), shifted(batch.completion_mask));
}

Tensor token_entropy(const Scored& outputs) {
    return outputs.shift_logits.defined() ? entropy_of(outputs.shift_logits)
                                          : last_places_of(detach(outputs.fused.entropy));
}

Tensor shifted(const Tensor& t) { return slice(t, 1, 1, t.size(1)); }

Tensor last_places_of(const Tensor& t) { return slice(t, 1, 0, t.size(1)); }

}  // namespace vramfit::model
