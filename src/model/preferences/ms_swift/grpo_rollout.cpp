// ms-swift 4.6 rlhf_trainers/rollout_mixin.py RolloutTrainerMixin._generate_and_score_completions; grpo_trainer.py
// GRPOTrainer._prepare_batch_inputs, _postprocess_batch; infer_engine/transformers_engine.py TransformersEngine._infer,
// _infer_full; rlhf_trainers/utils.py collate_to_grpo_micro_batch.
#include "model/preferences/ms_swift/grpo_rollout.hpp"

#include <utility>

#include "engine/ops/copy.hpp"
#include "engine/ops/index.hpp"
#include "engine/ops/nonzero.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/view.hpp"
#include "model/preferences/grpo/generation.hpp"
#include "model/preferences/grpo/rollout.hpp"
#include "model/preferences/grpo/scores.hpp"
#include "model/preferences/metrics.hpp"
#include "model/preferences/ms_swift/grpo_advantages.hpp"
#include "model/preferences/rows.hpp"
#include "vramfit/spec/pair_rows.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

constexpr DimMask kAllRows = 1;

/// What of a row that was generated goes to the host: `masks` and `non_pad_indices` stay until the next row's.
void read_row(const Run& run, const Tensor& completion, const Tensor& prompt, Tensor& masks, Tensor& non_pad_indices) {
    read_item(sum_all(prompt));  // of the mask: _get_num_tokens
    masks = compare(Op::ne, completion);
    { const Tensor kept = index_by_mask(completion, masks, completion.size(0)); }
    run.session.streams.host_waits(0);
    non_pad_indices = [&] {
        const Tensor is_token = compare(Op::ne, prompt);
        return nonzero(is_token, prompt.size(0));
    }();
    read_item(reduce(view(non_pad_indices, {non_pad_indices.size(0)}), kAllRows, false, DType::int64, Op::min));
}

/// TransformersEngine.infer.
void infer(const Run& run, const Network& network, const Size& rows, const Size& prompt_length) {
    const auto tokens = run.session.decide("tokens of a completion", run.sizes.length - prompt_length);
    const Dims of_prompts{rows, prompt_length};
    const Tensor ids = moved(run, of_prompts, DType::int64);
    const Tensor mask = moved(run, of_prompts, DType::int64);
    Tensor stop_words;
    Prompts prompts{ids, mask, group_rows(run.plan).prompts_differ, missing_of_prompts(run)};
    prompts.has_begin = has_begin(run);
    prompts.stop_words = &stop_words;
    const Tensor sequences = generate(run, network, prompts, tokens);
    const Tensor generated = slice(sequences, 1, prompt_length, sequences.size(1));
    Tensor masks, non_pad_indices;
    const auto count = run.session.decide("rows that are generated", rows);
    for (std::int64_t row = 0; row < count; ++row)
        read_row(run, select(generated, 0), select(ids, 0), masks, non_pad_indices);
}

/// collate_to_grpo_micro_batch.
SwiftGroup collated(const Run& run) {
    Session& session = run.session;
    const Size rows = run.sizes.batch, kept = kept_of_group(run);
    const Dims whole{rows, run.sizes.length};
    SwiftGroup out;
    for (Tensor* t : {&out.ids, &out.mask}) *t = moved(run, whole, DType::int64);
    const Tensor labels = moved(run, whole, DType::int64);
    {
        const Tensor behind = [&] {
            const Tensor first = [&] {
                const Tensor numbers = [&] {
                    const Tensor scored = compare(Op::ne, labels);
                    return to(scored, DType::int32);
                }();
                return argmax_last(numbers);
            }();
            return sub(first, 1);
        }();
        read_item(reduce(behind, kAllRows, false, DType::int64, Op::max));
    }
    out.completion_mask = compare(Op::ne, slice(labels, 1, run.sizes.length - kept, run.sizes.length));
    out.lengths = empty(session, {rows}, DType::int64, Op::full);
    out.truncated = moved(run, {rows}, DType::boolean);
    return out;
}

/// The policy that has generated, and the reference, without gradients and without checkpointing.
void score(const Run& run, Network& network, const Reference& reference, const Place& place, SwiftGroup& group) {
    const GradMode no_grad(run.session, false);
    const Scoped<Checkpointing> whole_layers(network.checkpointing, Checkpointing::off);
    {
        const WithinPhase phase(run.session, phase_at(PhaseKind::log_probabilities, place));
        group.log_probs = swift_group_scores(run, network, group, place);
    }
    run.session.recorder.begin(phase_at(PhaseKind::inputs, place));
    if (!run.plan.preference.grpo.has_reference) return;
    group.reference = on_reference(run, network, reference, [&](const Run& asked, const Network& other) {
        const WithinPhase phase(run.session, phase_at(PhaseKind::reference_forward, place));
        return swift_group_scores(asked, other, group, place);
    });
    run.session.recorder.begin(phase_at(PhaseKind::inputs, place));
}

/// The end of _prepare_batch_inputs: lengths of all completions, and how many were cut.
void count_tokens(const Run& run, std::vector<SwiftGroup>& groups) {
    for (const SwiftGroup& group : groups) read_item(sum_dim(group.completion_mask, 1, false, DType::int64));
    const Size rows = run.sizes.batch * static_cast<std::int64_t>(groups.size());
    const Tensor lengths = moved(run, {rows}, DType::float32);
    const Tensor num_items = sum_all(lengths);
    for (SwiftGroup& group : groups) group.num_items = num_items;
    read_mean(lengths);
    for (const Op op : {Op::min, Op::max}) read_item(reduce(lengths, kAllRows, false, DType::float32, op));
    const Tensor truncated = moved(run, {rows}, DType::boolean);
    read_item(sum_all(truncated));
}

/// expand_advantage_to_per_token, of the rows of each batch.
void give_advantages(const Run& run, const Tensor& advantages, std::vector<SwiftGroup>& groups) {
    for (SwiftGroup& group : groups) {
        const Dims& sizes = group.completion_mask.sizes();
        const Tensor base = empty(run.session, {sizes[0]}, advantages.dtype(), Op::cat);  // torch.stack
        group.advantages = clone_contiguous(expand(unsqueeze(base, 1), sizes));
    }
}

}  // namespace

Tensor weights_of_rewards(const Run& run) {
    if (!by_ms_swift(run.plan) || run.plan.loop.kind != LoopKind::grpo) return {};
    return moved(run, {run.plan.preference.grpo.reward_functions}, DType::float32);
}

void swift_roll_out(const Run& run, Network& network, const Reference& reference, const Place& place,
                    SwiftRollout& rollout) {
    Session& session = run.session;
    const Phase around = phase_at(PhaseKind::inputs, place);
    const std::int64_t steps = steps_per_generation(run.plan);
    const Size rows = run.sizes.batch * steps;
    {
        const WithinPhase phase(session, phase_at(PhaseKind::generation, place));
        const Scoped<Checkpointing> whole_layers(network.checkpointing, Checkpointing::off);
        const Scoped<bool> evaluates(session.training, false);
        const Scoped<bool> inference(session.autocast.remembers, false);  // _infer: torch.inference_mode()
        infer(run, network, rows, group_rows(run.plan).prompt);
    }
    session.recorder.begin(around);
    Tensor rewards_per_func;
    {
        const WithinPhase phase(session, phase_at(PhaseKind::reward, place));
        rewards_per_func = swift_rewards(run, rows);
    }
    session.recorder.begin(around);
    rollout.rewards_per_func = std::move(rewards_per_func);
    std::vector<SwiftGroup> groups;
    for (std::int64_t i = 0; i < steps; ++i) {
        groups.push_back(collated(run));
        score(run, network, reference, place, groups.back());
    }
    count_tokens(run, groups);
    const Tensor advantages = swift_advantages(run, rollout.rewards_per_func);
    give_advantages(run, advantages, groups);
    rollout.groups = std::move(groups);
}

}  // namespace vramfit::model
