// trl 1.16 trainer/grpo_trainer.py GRPOTrainer._get_per_token_logps_and_entropies.
#include "model/preferences/grpo/scores.hpp"

#include <optional>

#include "engine/autocast.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/view.hpp"
#include "model/causal_lm/fused_head.hpp"
#include "model/causal_lm/mixed_precision.hpp"
#include "model/parallel/zero_plan.hpp"
#include "model/preferences/grpo/whole_scores.hpp"
#include "vramfit/spec/pair_rows.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// outputs.x[:, -logits_to_keep:].
Tensor last_of(const Tensor& t, const Size& completion) { return slice(t, 1, t.size(1) - completion, t.size(1)); }

}  // namespace

Missing missing_of_prompts(const Run& run) {
    const PairLengths& pairs = run.plan.batch.pairs;
    const GroupRows group = group_rows(run.plan);
    Missing out;
    out.is_unknown = pairs.padded;
    if (!group.prompts_differ || pairs.padded) return out;
    const std::int64_t rows_of_prompt = group.rows / static_cast<std::int64_t>(pairs.prompt.size());
    for (const std::int64_t tokens : pairs.prompt)
        if (tokens < group.prompt)
            out.left.insert(out.left.end(), static_cast<std::size_t>(rows_of_prompt), group.prompt - tokens);
    return out;
}

Missing missing_of_rows(const Run& run) {
    Missing out = missing_of_prompts(run);
    out.right = group_rows(run.plan).shorter;
    return out;
}

ScoredRows whole_rows(const Tensor& prompt_ids, const Tensor& completion_ids, const Tensor& prompt_mask,
                      const Tensor& completion_mask) {
    const auto joined = [](const Tensor& before, const Tensor& behind) {
        const Tensor parts[2] = {before, behind};
        return cat(parts, 1);
    };
    return {joined(prompt_ids, completion_ids), joined(prompt_mask, completion_mask), completion_ids.size(1)};
}

void take_rows(const Run& run, const ScoredRows& rows, std::int64_t chunk, Batch& inputs) {
    const Size& batch = run.sizes.batch;
    inputs.input_ids = slice(rows.ids, 0, batch * chunk, batch * (chunk + 1));
    inputs.attention_mask = slice(rows.mask, 0, batch * chunk, batch * (chunk + 1));
    inputs.padded = group_rows(run.plan).pads;
    inputs.missing = missing_of_rows(run);
}

CompletionScores completion_scores(const Run& run, const Network& network, const ScoredRows& rows,
                                   const ScoreParts& parts, const Place& place, const ForwardWrapper& wrapper) {
    if (!run.stack.dpo_scores_in_chunks()) return whole_completion_scores(run, network, rows, place);
    Session& session = run.session;
    const bool trains = session.grad_enabled;
    const Size& completion = rows.completion;
    const Size& batch = run.sizes.batch;
    const GroupRows group = group_rows(run.plan);
    std::vector<Tensor> log_probs, entropies;
    Batch inputs;
    FusedOutput outputs;
    const auto chunks = session.decide("batches of rows", rows.ids.size(0) / batch);
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
        take_rows(run, rows, chunk, inputs);
        {
            const Tensor padded = compare(Op::eq, inputs.attention_mask);
            inputs.labels = masked_fill(inputs.input_ids, padded);
        }
        std::optional<AutocastScope> autocast;
        // Accelerator.autocast, which DeepSpeed has none of.
        const auto dtype = zero_of(run.plan) ? std::nullopt : mixed_dtype(run.plan.training);
        if (dtype) autocast.emplace(session, true, *dtype);
        if (wrapper.before) wrapper.before();
        outputs = fused_forward(run, network, inputs, batch * completion - group.shorter, parts, place);
        if (trains) session.recorder.begin(phase_at(PhaseKind::loss, place));
        if (wrapper.after) wrapper.after(outputs.log_probs, outputs.all());
        if (trains) session.begin_loss();
        autocast.reset();
        log_probs.push_back(last_of(outputs.log_probs, completion));
        if (trains) entropies.push_back(last_of(outputs.entropy, completion));
    }
    CompletionScores out;
    out.log_probs = cat(log_probs, 0);
    if (trains) out.entropies = cat(entropies, 0);
    log_probs.clear();
    entropies.clear();
    inputs.labels.reset();
    return out;
}

}  // namespace vramfit::model
