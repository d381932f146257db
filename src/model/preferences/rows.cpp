// trl 1.16 trainer/dpo_trainer.py DataCollatorForPreference, trainer/utils.py disable_dropout_in_model.
#include "model/preferences/rows.hpp"

#include <algorithm>

#include "engine/ops/copy.hpp"
#include "model/causal_lm/classification.hpp"
#include "model/preferences/bco/rows.hpp"
#include "model/preferences/contrast.hpp"
#include "model/preferences/contrast_rows.hpp"
#include "model/preferences/labelled_rows.hpp"
#include "model/preferences/process_reward/rows.hpp"
#include "model/preferences/unpaired.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

bool any_of_list(const std::vector<std::int64_t>& list) {
    return std::any_of(list.begin(), list.end(), [](std::int64_t n) { return n != 0; });
}

bool pads(const TrainPlan& plan) {
    const PairLengths& pairs = plan.batch.pairs;
    if (plan.loop.kind == LoopKind::gkd && pairs.padded) return plan.training.per_device_train_batch_size > 1;
    return any_of_list(pairs.chosen_shorter) || (has_pairs(plan.loop.kind) && any_of_list(pairs.rejected_shorter));
}

/// The sum of one of the lists over the pairs of a batch, of KTO over its rows.
Size sum_over_pairs(const Run& run, const std::vector<std::int64_t>& list) {
    if (list.size() == 1) return (has_pairs(run.plan.loop.kind) ? pairs_of(run) : run.sizes.batch) * list.front();
    std::int64_t sum = 0;
    for (const std::int64_t n : list) sum += n;
    return sum;
}

}  // namespace

Tensor moved(const Run& run, const Dims& sizes, DType dtype) {
    Tensor out = to_device(host_tensor(run.session, sizes, dtype));
    run.session.streams.host_waits(0);  // non_blocking is false
    return out;
}

bool waits_for_rows(const TrainPlan& plan) {
    return is_preference(plan.loop.kind) && !generates_rows(plan.loop.kind) && !by_own_trainer(plan);
}

bool has_score(const TrainPlan& plan) { return plan.loop.kind == LoopKind::reward && !by_llama_factory(plan); }

namespace {

/// LLaMA-Factory's trainers of the stages dpo and kto do, that of rm does not.
bool disables_dropout(const TrainPlan& plan) {
    if (by_llama_factory(plan)) return plan.loop.kind != LoopKind::reward;
    return plan.preference.disable_dropout;
}

}  // namespace

namespace {

// Which steps are on policy is drawn at random: both kinds run with the optimizer's states.
void prepare_distillation(TrainPlan& plan) {
    constexpr std::int64_t kStepsOfBothKinds = 4;
    const DistillationPlan& how = plan.distillation;
    if (how.lmbda > 0 && how.lmbda < 1) plan.loop.steps = std::max(plan.loop.steps, kStepsOfBothKinds);
    plan.preference.grpo = {};
    plan.preference.grpo.has_temperature = how.has_temperature;
}

}  // namespace

TrainPlan plan_of_preferences(const TrainPlan& plan) {
    TrainPlan out = plan;
    out.batch.attention_mask = pads(plan) ? AttentionMask::right_padded : AttentionMask::ones;
    if (has_score(plan) || rewards_steps(plan)) out = plan_of_classifier(out);
    if (out.peft && disables_dropout(plan)) out.peft->lora_dropout = 0;
    if (prepares_by_itself(plan.loop.kind) && !by_llama_factory(plan)) prepare_contrast(out);
    if (plan.loop.kind == LoopKind::gkd) prepare_distillation(out);
    if (rewards_steps(plan)) prepare_process_reward(out);
    return out;
}

// Only modules are switched off: what a family hands to torch.nn.functional.dropout as a number stays.
ModelSpec spec_of_preferences(const ModelSpec& spec, const TrainPlan& plan) {
    ModelSpec out = spec;
    // trl 1.16 trainer/reward_trainer.py RewardTrainer.__init__
    if (has_score(plan)) out = spec_of_classifier(spec, 1, false);
    if (rewards_steps(plan)) out = spec_of_classifier(spec, kStepLabels, true);
    if (!disables_dropout(plan)) return out;
    out.classifier_dropout = 0;
    out.dropout_modules = false;
    if (spec.model_type == "gpt2") out.attention_dropout = 0;
    const bool by_number = spec.model_type == "starcoder2" || spec.model_type == "seed_oss";
    if (!by_number) out.residual_dropout = out.embedding_dropout = 0;
    return out;
}

Size scored_tokens(const Run& run) {
    const PairLengths& pairs = run.plan.batch.pairs;
    const Size all = run.sizes.batch * run.sizes.length;
    if (!has_pairs(run.plan.loop.kind))
        return all - sum_over_pairs(run, pairs.prompt) - sum_over_pairs(run, pairs.chosen_shorter);
    return all - 2 * sum_over_pairs(run, pairs.prompt) - sum_over_pairs(run, pairs.chosen_shorter) -
           sum_over_pairs(run, pairs.rejected_shorter);
}

Size chosen_tokens(const Run& run) {
    const PairLengths& pairs = run.plan.batch.pairs;
    return pairs_of(run) * run.sizes.length - sum_over_pairs(run, pairs.prompt) -
           sum_over_pairs(run, pairs.chosen_shorter);
}

bool has_labels(const TrainPlan& plan) {
    const bool labels_pairs = by_ms_swift(plan) && has_pairs(plan.loop.kind) && !has_score(plan);
    return plan.loop.kind == LoopKind::gkd || rewards_steps(plan) || labels_pairs;
}

Batch fetch_preferences(const Run& run, bool references) {
    const LoopKind kind = run.plan.loop.kind;
    if (by_own_trainer(run.plan)) return fetch_labelled(run);
    if (kind == LoopKind::kto) return fetch_unpaired(run, references);
    if (kind == LoopKind::bco) return fetch_classified(run, references);
    if (rewards_steps(run.plan)) return fetch_steps(run);
    if (is_contrast(kind)) return fetch_apart(run);
    const Dims rows{run.sizes.batch, run.sizes.length};
    Batch batch;
    for (Tensor* t : {&batch.input_ids, &batch.attention_mask}) *t = moved(run, rows, DType::int64);
    if (kind == LoopKind::dpo) batch.completion_mask = moved(run, rows, DType::int64);
    if (!references) return batch;
    for (Tensor* t : {&batch.reference_chosen, &batch.reference_rejected})
        *t = moved(run, {pairs_of(run)}, DType::float32);
    return batch;
}

}  // namespace vramfit::model
