// trl 1.16 experimental/online_dpo/online_dpo_trainer.py OnlineDPOTrainer._generate; experimental/utils.py
// truncate_right, first_true_indices; models/utils.py _unwrap_model_for_generation.
#include "model/preferences/online/rows.hpp"

#include "engine/ops/copy.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/view.hpp"
#include "model/loading/prepare.hpp"
#include "model/preferences/grpo/generation.hpp"
#include "model/preferences/grpo/scores.hpp"
#include "model/preferences/reference.hpp"
#include "model/preferences/rows.hpp"
#include "vramfit/spec/pair_rows.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// first_true_indices(torch.isin(completion_ids, ends)): the tensor of ends is gone before.
Tensor first_ends(const Run& run, const Tensor& completion_ids) {
    Session& session = run.session;
    const Size rows = completion_ids.size(0), tokens = completion_ids.size(1);
    const Tensor is_end = [&] {
        const Tensor end_ids = moved(run, {end_tokens(run)}, DType::int64);
        return is_in(completion_ids, end_ids);
    }();
    const Tensor zero_or_index = [&] {
        const Tensor length_or_zero = [&] {
            const Tensor numbers = [&] {
                const Tensor other = compare(Op::bitwise_not, is_end);
                return to(other, DType::int64);
            }();
            return mul(numbers, 1);
        }();
        const Tensor range = arange(session, tokens);
        return add(length_or_zero, range);
    }();
    Tensor first = empty(session, {rows}, DType::int64, Op::min);
    const Tensor places = empty(session, {rows}, DType::int64, Op::min);
    return first;
}

/// torch.masked_fill(t, idxs > trunc_idxs, number).
Tensor filled_behind(const Tensor& t, const Tensor& indices, const Tensor& ends) {
    const Tensor is_behind = compare(Op::gt, unsqueeze(indices, 0), ends);
    return clone_contiguous(t);
}

}  // namespace

OnlineRows generate_pairs(const Run& run, Network& network, const Place& place) {
    Session& session = run.session;
    const Size prompt = group_rows(run.plan).prompt, completion = run.sizes.length - prompt;
    const Size rows = run.sizes.batch;
    OnlineRows out;
    {
        const WithinPhase phase(session, phase_at(PhaseKind::generation, place));
        const Scoped<Checkpointing> whole_layers(network.checkpointing, Checkpointing::off);
        const auto tokens = session.decide("tokens of a completion", completion);
        const GradMode no_grad(session, false);
        const Dims once{rows / 2, prompt};
        const Tensor ids = moved(run, once, DType::int64), mask = moved(run, once, DType::int64);
        for (Tensor* t : {&out.prompt_ids, &out.prompt_mask})
            *t = empty(session, {rows, prompt}, DType::int64, Op::repeat);
        // trl switches its argument off once it has prepared packed weights: these have a cache.
        const bool caches = !run.plan.training.gradient_checkpointing || run.plan.load.quantization;
        const Prompts prompts{out.prompt_ids, out.prompt_mask, group_rows(run.plan).prompts_differ,
                              missing_of_prompts(run)};
        Generated generated = generate_with_cache(run, network, prompts, tokens, caches);
        let_go(generated.cache);
        const Tensor sampled = slice(generated.ids, 1, prompt, generated.ids.size(1));
        const Tensor ends = unsqueeze(first_ends(run, sampled), 1);
        const Tensor indices = arange(session, completion);
        out.completion_ids = filled_behind(sampled, indices, ends);
        const Tensor ones = ones_like(out.completion_ids);
        out.completion_mask = filled_behind(ones, indices, ends);
    }
    session.end_loss();  // which the head of what generated has begun
    session.recorder.begin(phase_at(PhaseKind::inputs, place));
    // gradient_checkpointing_enable without arguments: what the job asked for holds until here.
    if (network.checkpointing != Checkpointing::off) enable_checkpointing(run, network, {});
    return out;
}

}  // namespace vramfit::model
