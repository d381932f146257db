// trl 1.9 and 1.16 trainer/dpo_trainer.py and kto_trainer.py _precompute_ref_logps.
#include "model/preferences/precompute.hpp"

#include <algorithm>

#include "model/preferences/bco/loss.hpp"
#include "model/preferences/dpo.hpp"
#include "model/preferences/kto.hpp"
#include "model/preferences/rows.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// Before the fused head the policy that scores is not prepared yet: nothing is cast.
TrainPlan plan_of_scoring(const Run& run) {
    TrainPlan plan = run.plan;
    if (!run.stack.dpo_scores_in_chunks()) plan.training.bf16 = plan.training.fp16 = false;
    return plan;
}

std::vector<Tensor> scores_of(const Run& run, Network& policy, const Batch& batch) {
    switch (run.plan.loop.kind) {
        case LoopKind::kto: return precomputed_unpaired(run, policy, batch);
        case LoopKind::bco: return precomputed_classified(run, policy, batch);
        default: return precomputed_pairs(run, policy, batch);
    }
}

/// The scores of a data set of so many batches, of which the second is like all later ones.
void score_rows(const Run& run, Network& policy, std::int64_t batches) {
    {
        const WithinPhase phase(run.session, {PhaseKind::precompute_reference});
        const Scoped<bool> evaluates(run.session.training, false);
        Batch batch;  // enumerate holds one until the next is there
        std::vector<Tensor> scores;
        for (std::int64_t number = 0; number < std::min<std::int64_t>(batches, 2); ++number) {
            batch = fetch_preferences(run, false);
            scores = scores_of(run, policy, batch);
            run.session.streams.host_waits(0);  // Tensor.cpu
            run.session.end_loss();
        }
    }
    const bool accumulates = run.plan.training.gradient_accumulation_steps > 1;
    run.session.recorder.begin(precomputes_in_training(run.plan) ? Phase{PhaseKind::inputs, 0, accumulates ? 0 : -1}
                                                                 : Phase{PhaseKind::trainer});
}

}  // namespace

// trl 1.9 experimental/bco/bco_trainer.py BCOTrainer.get_train_dataloader.
bool precomputes_in_training(const TrainPlan& plan) { return plan.loop.kind == LoopKind::bco; }

void precompute_references(const Run& trained, Network& policy) {
    const TrainPlan plan = plan_of_scoring(trained);
    const Run run = trained.with(plan);
    score_rows(run, policy, run.plan.loop.steps * run.plan.training.gradient_accumulation_steps);
    if (!run.plan.evaluation) return;
    const EvaluationPlan& evaluation = *run.plan.evaluation;
    if (run.plan.preference.precompute_ref_batch_size) return score_rows(run, policy, evaluation.batches);
    TrainPlan with_rows = plan;
    with_rows.training.per_device_train_batch_size = evaluation.per_device_eval_batch_size;
    score_rows(run.with(with_rows, run.sizes_of_evaluation()), policy, evaluation.batches);
}

}  // namespace vramfit::model
