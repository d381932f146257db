// trl 1.16 trainer/dpo_trainer.py DataCollatorForPreference, trainer/utils.py disable_dropout_in_model.
#include "model/preferences/rows.hpp"

#include <algorithm>

#include "engine/ops/copy.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

bool any_of_list(const std::vector<std::int64_t>& list) {
    return std::any_of(list.begin(), list.end(), [](std::int64_t n) { return n != 0; });
}

bool pads(const PairLengths& pairs) { return any_of_list(pairs.chosen_shorter) || any_of_list(pairs.rejected_shorter); }

/// The sum of one of the lists over the pairs of a batch.
Size sum_over_pairs(const Run& run, const std::vector<std::int64_t>& list) {
    if (list.size() == 1) return pairs_of(run) * list.front();
    std::int64_t sum = 0;
    for (const std::int64_t n : list) sum += n;
    return sum;
}

}  // namespace

TrainPlan plan_of_pairs(const TrainPlan& plan) {
    TrainPlan out = plan;
    out.batch.attention_mask = pads(plan.batch.pairs) ? AttentionMask::right_padded : AttentionMask::ones;
    if (out.peft && plan.dpo.disable_dropout) out.peft->lora_dropout = 0;
    return out;
}

// Only modules are switched off: what a family hands to torch.nn.functional.dropout as a number stays.
ModelSpec spec_of_pairs(const ModelSpec& spec, const TrainPlan& plan) {
    ModelSpec out = spec;
    if (!plan.dpo.disable_dropout) return out;
    if (spec.model_type == "gpt2") out.attention_dropout = 0;
    if (spec.model_type != "starcoder2") out.residual_dropout = out.embedding_dropout = 0;
    return out;
}

Size scored_tokens(const Run& run) {
    const PairLengths& pairs = run.plan.batch.pairs;
    return run.sizes.batch * run.sizes.length - 2 * sum_over_pairs(run, pairs.prompt) -
           sum_over_pairs(run, pairs.chosen_shorter) - sum_over_pairs(run, pairs.rejected_shorter);
}

Size chosen_tokens(const Run& run) {
    const PairLengths& pairs = run.plan.batch.pairs;
    return pairs_of(run) * run.sizes.length - sum_over_pairs(run, pairs.prompt) -
           sum_over_pairs(run, pairs.chosen_shorter);
}

Batch fetch_pairs(const Run& run, bool references) {
    const auto moved = [&run](const Dims& sizes, DType dtype) {
        Tensor out = to_device(host_tensor(run.session, sizes, dtype));
        run.session.streams.host_waits(0);  // non_blocking is false
        return out;
    };
    const Dims rows{run.sizes.batch, run.sizes.length};
    Batch batch;
    for (Tensor* t : {&batch.input_ids, &batch.attention_mask, &batch.completion_mask}) *t = moved(rows, DType::int64);
    if (!references) return batch;
    for (Tensor* t : {&batch.reference_chosen, &batch.reference_rejected}) *t = moved({pairs_of(run)}, DType::float32);
    return batch;
}

}  // namespace vramfit::model
