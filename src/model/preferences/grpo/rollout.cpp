// trl 1.16 trainer/grpo_trainer.py GRPOTrainer._generate_single_turn, _generate, _generate_and_score_completions,
// _prepare_inputs, and the same of rloo_trainer.py; trainer/utils.py shuffle_sequence_dict, split_tensor_dict.
#include "model/preferences/grpo/rollout.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/ops/copy.hpp"
#include "engine/ops/index.hpp"
#include "engine/ops/nonzero.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/view.hpp"
#include "model/preferences/grpo/advantages.hpp"
#include "model/preferences/grpo/generation.hpp"
#include "model/preferences/grpo/rewards.hpp"
#include "model/preferences/grpo/scores.hpp"
#include "model/preferences/grpo/texts.hpp"
#include "model/preferences/grpo/vllm.hpp"
#include "model/preferences/grpo/weight_sync.hpp"
#include "model/preferences/metrics.hpp"
#include "model/preferences/rows.hpp"
#include "vramfit/spec/pair_rows.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

struct RowSizes {
    Size rows, prompt, completion;
};

RowSizes sizes_of_rows(const Run& run) {
    const Size prompt = group_rows(run.plan).prompt;
    return {run.sizes.batch * steps_per_generation(run.plan), prompt, run.sizes.length - prompt};
}

/// What is masked behind the first end of each row.
void mask_behind_end(const Run& run, const Tensor& completion_ids) {
    Session& session = run.session;
    const Size rows = completion_ids.size(0), tokens = completion_ids.size(1);
    Tensor is_end;
    if (!run.stack.completions_have_several_ends()) {
        is_end = compare(Op::eq, completion_ids);
    } else {
        const Tensor end_ids = moved(run, {end_tokens(run)}, DType::int64);
        is_end = is_in(completion_ids, end_ids);
    }
    const Tensor first_end = empty(session, {rows}, DType::int64, Op::full);
    {
        const Tensor picked = [&] {
            const Tensor places = [&] {
                const Tensor numbers = to(is_end, DType::int32);
                return argmax_last(numbers);
            }();
            const Tensor has_end = any_of(is_end, 2);
            return index_by_mask(places, has_end, rows);
        }();
        const Tensor has_end = any_of(is_end, 2);
        const Tensor places = nonzero(has_end, rows);
    }
    const Tensor indices = arange(session, tokens);
    const Tensor mask = [&] {
        const Tensor is_seen = compare(Op::le, expand(unsqueeze(indices, 0), {rows, tokens}), unsqueeze(first_end, 1));
        return to(is_seen, DType::int32);
    }();
    { const Tensor on_host = contiguous(completion_ids); }
    session.streams.host_waits(0);
    { const Tensor seen = to(mask, DType::boolean); }
    session.streams.host_waits(0);
}

/// Tensor.float() and its mean, smallest and largest one, as the host reads them.
void read_lengths(const Tensor& lengths) {
    for (const Op op : {Op::mean, Op::min, Op::max}) {
        const Tensor numbers = to(lengths, DType::float32);
        read_item(reduce(numbers, 1, false, DType::float32, op));
    }
}

/// Of _generate, once the completions are on the host.
void log_lengths(const Run& run, const Size& rows) {
    const Tensor prompt_lengths = moved(run, {rows}, DType::int64);
    const Tensor completion_lengths = moved(run, {rows}, DType::int64);
    const Tensor all_prompt_lengths = gathered(run, prompt_lengths);
    const Tensor all_completion_lengths = gathered(run, completion_lengths);
    const Tensor total = sum_all(all_prompt_lengths);
    {
        const Tensor generated = sum_all(all_completion_lengths);
        read_item(add(total, generated));
    }
    read_lengths(all_completion_lengths);
    const Tensor is_truncated = moved(run, {rows}, DType::boolean);
    const Tensor all_is_truncated = gathered(run, is_truncated);
    {
        const Tensor numbers = to(all_is_truncated, DType::float32);
        read_mean(numbers);
    }
    const Tensor terminated = [&] {
        const Tensor ended = compare(Op::bitwise_not, all_is_truncated);
        return index_by_mask(all_completion_lengths, ended, all_completion_lengths.size(0));
    }();
    read_lengths(terminated);
}

/// trl's unwrap_model_for_generation: under ZeRO-3 the weights are whole, and most hooks off.
class WholeWeights {
  public:
    explicit WholeWeights(Session& session) : hooks_(session.module_hooks) {
        const GradMode no_grad(session, false);
        if (hooks_) hooks_->take_off();
    }
    ~WholeWeights() {
        if (hooks_) hooks_->put_back();
    }
    WholeWeights(const WholeWeights&) = delete;
    WholeWeights& operator=(const WholeWeights&) = delete;

  private:
    ModuleHooks* hooks_;
};

/// _generate with transformers: the completions go to the host.
void generate_completions(const Run& run, const Network& network, const RowSizes& sizes, const ForwardWrapper* around) {
    const auto tokens = run.session.decide("tokens of a completion", sizes.completion);
    {
        const Dims of_prompts{sizes.rows, sizes.prompt};
        const Tensor ids = moved(run, of_prompts, DType::int64);
        const Tensor mask = moved(run, of_prompts, DType::int64);
        const Tensor generated = [&] {
            const WholeWeights whole(run.session);
            Prompts prompts{ids, mask, group_rows(run.plan).prompts_differ, missing_of_prompts(run)};
            prompts.around = around;
            return generate(run, network, prompts, tokens);
        }();
        mask_behind_end(run, slice(generated, 1, sizes.prompt, generated.size(1)));
    }
    log_lengths(run, sizes.rows);
}

/// completion_mask * (~is_truncated).unsqueeze(1).int(); is_truncated is the function's to the end.
Tensor mask_truncated(const Run& run, Tensor& completion_mask) {
    const Tensor is_truncated = moved(run, {completion_mask.size(0)}, DType::boolean);
    const Tensor kept = [&] {
        const Tensor is_whole = compare(Op::bitwise_not, is_truncated);
        return to(unsqueeze(is_whole, 1), DType::int32);
    }();
    completion_mask = mul(completion_mask, kept);
    return is_truncated;
}

/// v[permutation]: the indices come from the host.
void shuffle(const Run& run, Tensor& t) {
    if (!t.defined()) return;
    const Tensor permutation = moved(run, {t.size(0)}, DType::int64);
    Dims sizes = t.sizes();
    t = empty(run.session, sizes, t.dtype(), Op::index);
}

}  // namespace

std::int64_t steps_per_generation(const TrainPlan& plan) {
    return plan.preference.grpo.generation_steps(plan.training.gradient_accumulation_steps);
}

std::int64_t batch_number(const TrainPlan& plan, const Place& place) {
    return place.step * plan.training.gradient_accumulation_steps + std::max(place.micro, 0);
}

namespace {

std::int64_t batches_per_generation(const TrainPlan& plan) {
    return steps_per_generation(plan) * plan.preference.grpo.num_iterations;
}

/// Whether the loss of GRPO is corrected for what vLLM sampled with.
bool corrects_sampling(const TrainPlan& plan) {
    const GrpoPlan& how = plan.preference.grpo;
    return plan.loop.kind == LoopKind::grpo && how.generates_by_vllm() && how.corrects_sampling;
}

/// Tokens of completions that are no padding.
Size scored_tokens(const Run& run, const RowSizes& sizes) {
    return sizes.rows * sizes.completion - group_rows(run.plan).shorter * steps_per_generation(run.plan);
}

/// Whether completions are scored before the loss: by RLOO always, by GRPO where a step can train on what an earlier
/// policy generated, or where vLLM's log-probabilities are corrected for.
bool keeps_old_log_probs(const TrainPlan& plan) {
    return plan.loop.kind == LoopKind::rloo || corrects_sampling(plan) ||
           plan.training.gradient_accumulation_steps % batches_per_generation(plan) != 0;
}

/// Of _generate_single_turn with vLLM: weights that the optimizer has changed go to the engine.
void generate_by_vllm(const Run& run, Network& network, const RowSizes& sizes, const Place& place) {
    const std::int64_t before = batch_number(run.plan, place) - batches_per_generation(run.plan);
    if (before < 0 || before / run.plan.training.gradient_accumulation_steps != place.step) {
        const GradMode no_grad(run.session, false);
        sync_weights(run, network, before < 0);
    }
    log_lengths(run, sizes.rows);
}

/// (old_per_token_logps * completion_mask).sum(1).
Tensor summed_over_tokens(const Tensor& log_probs, const Tensor& mask) {
    const Tensor masked = mul(log_probs, mask);
    return sum_dim(masked, -1, false, masked.dtype());
}

/// FSDP2's hooks on a reference of its own.
ForwardWrapper wrapper_of(const Reference& reference) {
    Fsdp2Reference* const shards = reference.shards.get();
    if (!shards) return {};
    return {true, [shards] { shards->before_forward(); },
            [shards](Tensor&, std::span<Tensor* const> outputs) { shards->after_forward(outputs); }};
}

/// Of the policy that has generated, and of the reference, without gradients and without checkpointing.
ScoredCompletions score_rollout(const Run& run, Network& network, const Reference& reference, const ScoredRows& rows,
                                const Place& place, const ForwardWrapper& own, Rollout& out,
                                SamplingCorrection& correction) {
    const GradMode no_grad(run.session, false);
    const Scoped<Checkpointing> whole_layers(network.checkpointing, Checkpointing::off);
    ScoredCompletions scored;
    scored.mask = out.completion_mask;
    if (keeps_old_log_probs(run.plan)) {
        const WithinPhase phase(run.session, phase_at(PhaseKind::log_probabilities, place));
        scored.policy = completion_scores(run, network, rows, kPolicyParts, place, own).log_probs;
    }
    const bool leaves_one_out = run.plan.loop.kind == LoopKind::rloo;
    const GrpoPlan& how = run.plan.preference.grpo;
    if (leaves_one_out || how.has_reference || corrects_sampling(run.plan))
        run.session.recorder.begin(phase_at(PhaseKind::inputs, place));
    out.old_log_probs = leaves_one_out ? summed_over_tokens(scored.policy, scored.mask) : scored.policy;
    if (corrects_sampling(run.plan)) {
        correct_for_sampling(run, scored.policy, out.sampling_log_probs, scored.mask, correction);
        out.sampling_ratio = correction.ratio;
    }
    if (!how.has_reference) return scored;
    scored.reference = on_reference(run, network, reference, [&](const Run& asked, const Network& other) {
                           const WithinPhase phase(run.session, phase_at(PhaseKind::reference_forward, place));
                           return completion_scores(asked, other, rows, reference.network ? ScoreParts{} : kPolicyParts,
                                                    place, reference.network ? wrapper_of(reference) : own);
                       }).log_probs;
    if (!leaves_one_out) out.reference_log_probs = scored.reference;
    return scored;
}

}  // namespace

bool generates(const TrainPlan& plan, const Place& place) {
    return generates_rows(plan.loop.kind) && batch_number(plan, place) % batches_per_generation(plan) == 0;
}

Rollout roll_out(const Run& run, Network& network, const Reference& reference, const Place& place,
                 const ForwardWrapper& wrapper) {
    Session& session = run.session;
    const ForwardWrapper own = wrapper.shards ? wrapper : ForwardWrapper{};
    const Phase around = phase_at(PhaseKind::inputs, place);
    const RowSizes sizes = sizes_of_rows(run);
    {
        const WithinPhase phase(session, phase_at(PhaseKind::generation, place));
        const Scoped<Checkpointing> whole_layers(network.checkpointing, Checkpointing::off);
        if (run.plan.preference.grpo.generates_by_vllm())
            generate_by_vllm(run, network, sizes, place);
        else
            generate_completions(run, network, sizes, own.shards ? &own : nullptr);
    }
    session.recorder.begin(around);
    Rollout out;
    for (Tensor* t : {&out.prompt_ids, &out.prompt_mask}) *t = moved(run, {sizes.rows, sizes.prompt}, DType::int64);
    for (Tensor* t : {&out.completion_ids, &out.completion_mask})
        *t = moved(run, {sizes.rows, sizes.completion}, DType::int64);
    Tensor is_truncated;
    if (run.plan.preference.grpo.masks_truncated) is_truncated = mask_truncated(run, out.completion_mask);
    const bool leaves_one_out = run.plan.loop.kind == LoopKind::rloo;
    if (!leaves_one_out && run.plan.preference.grpo.generates_by_vllm())
        out.sampling_log_probs = moved(run, {sizes.rows, sizes.completion}, DType::float32);
    if (!leaves_one_out) {
        const Tensor all = gathered(run, sum_all(out.completion_mask));
        out.num_items = sum_all(all);
    }
    {
        SamplingCorrection correction;
        const ScoredRows rows = whole_rows(out.prompt_ids, out.completion_ids, out.prompt_mask, out.completion_mask);
        const ScoredCompletions scored = score_rollout(run, network, reference, rows, place, own, out, correction);
        session.recorder.begin(around);
        Tensor rewards;
        {
            const WithinPhase phase(session, phase_at(PhaseKind::reward, place));
            rewards = calculate_rewards(run, sizes.rows);
        }
        session.end_loss();  // which a reward model's head has begun
        session.recorder.begin(around);
        const Rewards known = leaves_one_out ? leave_one_out_advantages(run, std::move(rewards), scored)
                                             : group_advantages(run, std::move(rewards));
        gather_texts(run);
        if (corrects_sampling(run.plan))
            log_correction(run, scored.policy, out.sampling_log_probs, scored.mask, scored_tokens(run, sizes),
                           correction);
        out.advantages = known.advantages;
    }
    is_truncated.reset();
    Rollout shuffled = out;
    std::vector<Tensor*> items = {&shuffled.prompt_ids, &shuffled.prompt_mask, &shuffled.completion_ids,
                                  &shuffled.completion_mask};
    Tensor *const scores = &shuffled.old_log_probs, *const advantages = &shuffled.advantages;
    if (leaves_one_out)
        items.insert(items.end(), {scores, advantages});
    else
        items.insert(items.end(), {advantages, scores, &shuffled.sampling_ratio, &shuffled.sampling_log_probs,
                                   &shuffled.reference_log_probs});
    for (Tensor* t : items) shuffle(run, *t);
    return shuffled;
}

Rollout part_of(const Run& run, const Rollout& all, std::int64_t number) {
    const Size first = run.sizes.batch * (number % steps_per_generation(run.plan));
    const auto rows = [&](const Tensor& t) { return t.defined() ? slice(t, 0, first, first + run.sizes.batch) : t; };
    return {rows(all.prompt_ids),        rows(all.prompt_mask),         rows(all.completion_ids),
            rows(all.completion_mask),   rows(all.advantages),          all.num_items,
            rows(all.old_log_probs),     rows(all.reference_log_probs), rows(all.sampling_ratio),
            rows(all.sampling_log_probs)};
}

}  // namespace vramfit::model
