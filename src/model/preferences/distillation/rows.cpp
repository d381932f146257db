// trl 1.16 experimental/utils.py DataCollatorForChatML.__call__, experimental/gkd/gkd_trainer.py
// GKDTrainer.training_step, generate_on_policy_outputs.
#include "model/preferences/distillation/rows.hpp"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/ops/copy.hpp"
#include "engine/ops/index.hpp"
#include "engine/ops/nonzero.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/view.hpp"
#include "model/preferences/grpo/generation.hpp"
#include "model/preferences/reference.hpp"
#include "model/preferences/rows.hpp"
#include "model/second/second_network.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// Of rows that are not known (padded) and of which no prompt is said (1) they are as long as the rows allow.
Size longest_prompt(const Run& run) {
    const PairLengths& pairs = run.plan.batch.pairs;
    if (pairs.padded && pairs.prompt == std::vector<std::int64_t>{1}) return run.sizes.length - 1;
    return *std::max_element(pairs.prompt.begin(), pairs.prompt.end());
}

/// Whether prompts of a batch are padded: for certain, or as far as is known.
bool prompts_differ(const Run& run) {
    const PairLengths& pairs = run.plan.batch.pairs;
    return pairs.prompt.size() > 1 || (pairs.padded && run.plan.training.per_device_train_batch_size > 1);
}

std::int64_t generated_tokens(const Run& run) {
    const DistillationPlan& how = run.plan.distillation;
    return how.generated.value_or(how.max_new_tokens);
}

/// Of the model's generation_config while the trainer is built: none of qwen's, three of glm4's, one of the others'.
Size own_end_tokens(const Run& run) { return end_tokens(run) - 1; }

/// What the function holds of the masks until it returns.
struct EndsOfRows {
    Tensor is_end, first_end, indices, completion_mask;
};

/// What is masked behind the first end of each row: int32, or int64 ones where no token ends a row.
EndsOfRows ends_of(const Run& run, const Tensor& completion_ids) {
    EndsOfRows out;
    const Size ends = own_end_tokens(run);
    if (!run.session.decide("there are ends", ends > 0)) {
        out.completion_mask = ones_like(completion_ids);
        return out;
    }
    Session& session = run.session;
    const Size rows = completion_ids.size(0), tokens = completion_ids.size(1);
    const Size ended = run.plan.distillation.generated ? rows : Size(0);
    {
        const Tensor end_ids = moved(run, {ends}, DType::int64);
        out.is_end = is_in(completion_ids, end_ids);
    }
    out.first_end = empty(session, {rows}, DType::int64, Op::full);
    {
        const Tensor picked = [&] {
            const Tensor places = [&] {
                const Tensor numbers = to(out.is_end, DType::int32);
                return argmax_last(numbers);
            }();
            const Tensor any = any_of(out.is_end, 2);
            return index_by_mask(places, any, ended);
        }();
        const Tensor any = any_of(out.is_end, 2);
        const Tensor places = nonzero(any, ended);
    }
    out.indices = arange(session, tokens);
    const Tensor is_seen =
        compare(Op::le, expand(unsqueeze(out.indices, 0), {rows, tokens}), unsqueeze(out.first_end, 1));
    out.completion_mask = to(is_seen, DType::int32);
    return out;
}

/// generate_on_policy_outputs.
Batch generate_rows(const Run& run, const Network& network, bool by_teacher, const Batch& data) {
    const Tensor &ids = data.apart[0], &mask = data.apart[1];
    const bool is_padded = prompts_differ(run);
    const Prompts prompts{
        ids, mask, is_padded, {}, std::max<Size>(1, own_end_tokens(run)), by_teacher && has_begin(run)};
    Generated generated =
        generate_with_cache(run, network, prompts, generated_tokens(run), !run.plan.training.gradient_checkpointing);
    Tensor new_mask, new_labels;
    {
        const EndsOfRows ends = ends_of(run, slice(generated.ids, 1, ids.size(1), generated.ids.size(1)));
        new_mask = ones_like(generated.ids);
        new_labels = clone(generated.ids);
        { const Tensor is_padding = compare(Op::eq, new_mask); }
        let_go(generated.cache);
    }
    Batch batch;
    batch.apart = data.apart;
    batch.input_ids = std::move(generated.ids);
    batch.attention_mask = std::move(new_mask);
    batch.labels = std::move(new_labels);
    batch.padded = is_padded;
    batch.scored = batch.input_ids.size(0) * generated_tokens(run);
    return batch;
}

}  // namespace

Batch fetch_distillation(const Run& run) {
    const Dims rows{run.sizes.batch, run.sizes.length}, prompts{run.sizes.batch, longest_prompt(run)};
    Batch batch;
    for (Tensor* t : {&batch.input_ids, &batch.attention_mask, &batch.labels}) *t = moved(run, rows, DType::int64);
    for (int i = 0; i < 2; ++i) batch.apart.push_back(moved(run, prompts, DType::int64));
    batch.apart.push_back(moved(run, {run.sizes.batch, run.sizes.length, 2}, DType::int64));
    batch.padded = run.plan.batch.attention_mask != AttentionMask::ones;
    batch.scored = run.plan.batch.pairs.padded ? run.sizes.batch * (run.sizes.length - 1) : scored_tokens(run);
    return batch;
}

void generate_on_policy(const Run& run, Network& student, const Place& place, Batch& batch) {
    const DistillationPlan& how = run.plan.distillation;
    const bool by_student = how.lmbda >= 1 || (how.lmbda > 0 && place.step % 2 == 0);
    if (!by_student && !how.seq_kd) return;
    Batch generated;
    {
        const WithinPhase phase(run.session, phase_at(PhaseKind::generation, place));
        if (by_student) {
            const Scoped<Checkpointing> whole_layers(student.checkpointing, Checkpointing::off);
            generated = generate_rows(run, student, false, batch);
        } else {
            generated = evaluated(
                run, *run.evaluated_networks->teacher, run.sizes,
                [&](const Run& asked, const Network& teacher) { return generate_rows(asked, teacher, true, batch); });
        }
    }
    run.session.end_loss();  // which the head of what generated has begun
    run.session.recorder.begin(phase_at(PhaseKind::inputs, place));
    batch = std::move(generated);
}

}  // namespace vramfit::model
