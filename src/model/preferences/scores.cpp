// trl 1.16 trainer/dpo_trainer.py and kto_trainer.py _compute_loss: the calls of the model.
#include "model/preferences/scores.hpp"

#include <optional>

#include "engine/autocast.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/view.hpp"
#include "model/causal_lm/mixed_precision.hpp"
#include "model/preferences/rows.hpp"

namespace vramfit::model {

using namespace engine;

FusedOutput scored(const Run& run, const Network& network, const Batch& batch, const ScoreParts& parts,
                   const Place& place) {
    std::optional<AutocastScope> autocast;
    if (const auto dtype = mixed_dtype(run.plan.training)) autocast.emplace(run.session, true, *dtype);
    return fused_forward(run, network, batch, scored_tokens(run), parts, place);
}

FusedOutput scored_by_reference(const Run& run, const Network& network, const Batch& batch, const ScoreParts& parts,
                                const Place& place) {
    if (!run.spec.mixture || run.spec.mixture->output_router_logits) return scored(run, network, batch, parts, place);
    TrainPlan plan = run.plan;
    plan.training.router_aux_loss_coef = 0;
    const Run asked{run.session, run.spec, plan, run.stack, run.sizes, nullptr, run.recorded};
    return scored(asked, network, batch, parts, place);
}

Tensor labels_of_completions(const Tensor& input_ids, const Tensor& completion_mask) {
    const Tensor is_prompt = compare(Op::eq, completion_mask);
    return masked_fill(input_ids, is_prompt);
}

Tensor last_places_of(const Tensor& t) { return slice(t, 1, 0, t.size(1)); }

}  // namespace vramfit::model
