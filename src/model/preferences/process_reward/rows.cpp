// trl 1.9 experimental/prm/prm_trainer.py PRMTrainer.__init__; transformers 5.16 data/data_collator.py
// DataCollatorForTokenClassification: ids and mask, then labels.
#include "model/preferences/process_reward/rows.hpp"

#include "model/preferences/rows.hpp"

namespace vramfit::model {

bool rewards_steps(const TrainPlan& plan) { return plan.loop.kind == LoopKind::prm; }

void prepare_process_reward(TrainPlan& plan) {
    plan.load.num_labels = kStepLabels;
    plan.load.labels_tokens = true;
}

Batch fetch_steps(const Run& run) {
    const engine::Dims rows{run.sizes.batch, run.sizes.length};
    Batch batch;
    for (Tensor* t : {&batch.input_ids, &batch.attention_mask, &batch.labels}) *t = moved(run, rows, DType::int64);
    batch.padded = run.plan.batch.attention_mask != AttentionMask::ones;
    return batch;
}

}  // namespace vramfit::model
