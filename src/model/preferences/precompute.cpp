// trl 1.9 and 1.16 trainer/dpo_trainer.py and kto_trainer.py _precompute_ref_logps.
#include "model/preferences/precompute.hpp"

#include <algorithm>

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

/// The scores of a data set of so many batches, of which the second is like all later ones.
void score_rows(const Run& run, Network& policy, std::int64_t batches) {
    {
        const WithinPhase phase(run.session, {PhaseKind::precompute_reference});
        const Scoped<bool> evaluates(run.session.training, false);
        Batch batch;  // enumerate holds one until the next is there
        std::vector<Tensor> scores;
        for (std::int64_t number = 0; number < std::min<std::int64_t>(batches, 2); ++number) {
            batch = fetch_preferences(run, false);
            scores = run.plan.loop.kind == LoopKind::kto ? precomputed_unpaired(run, policy, batch)
                                                         : precomputed_pairs(run, policy, batch);
            run.session.streams.host_waits(0);  // Tensor.cpu
            run.session.end_loss();
        }
    }
    run.session.recorder.begin({PhaseKind::trainer});
}

}  // namespace

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
