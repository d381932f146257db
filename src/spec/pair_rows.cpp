// Padding of the rows of preference training.
#include "vramfit/spec/pair_rows.hpp"

#include <algorithm>
#include <numeric>

namespace vramfit {

namespace {

/// Prompts that are as long as the longest one.
std::int64_t longest_prompts(const PairLengths& pairs, std::int64_t longest) {
    return std::count(pairs.prompt.begin(), pairs.prompt.end(), longest);
}

}  // namespace

void pad_rows(BatchPlan& batch, std::int64_t multiple) {
    const std::int64_t padding = (multiple - batch.sequence_length % multiple) % multiple;
    batch.sequence_length += padding;
    for (auto* shorter : {&batch.pairs.chosen_shorter, &batch.pairs.rejected_shorter})
        for (std::int64_t& tokens : *shorter) tokens += padding;
}

CompletionLengths completion_lengths(const BatchPlan& batch) {
    const PairLengths& pairs = batch.pairs;
    CompletionLengths out{0, batch.sequence_length};
    for (std::size_t row = 0; row < std::max(pairs.prompt.size(), pairs.chosen_shorter.size()); ++row) {
        const std::int64_t tokens =
            batch.sequence_length - of_row(pairs.prompt, row) - of_row(pairs.chosen_shorter, row);
        out.longest = std::max(out.longest, tokens);
        out.shortest = std::min(out.shortest, tokens);
    }
    return out;
}

// trl 1.16.0 grpo_trainer.py and rloo_trainer.py _get_train_sampler, _generate_single_turn,
// _generate_and_score_completions.
GroupRows group_rows(const TrainPlan& plan) {
    const PairLengths& pairs = plan.batch.pairs;
    const GrpoPlan& grpo = plan.preference.grpo;
    GroupRows out;
    out.rows = generates_pairs(plan.loop.kind) ? 2 * plan.training.per_device_train_batch_size
                                               : plan.training.per_device_train_batch_size *
                                                     grpo.generation_steps(plan.training.gradient_accumulation_steps);
    out.prompt = *std::max_element(pairs.prompt.begin(), pairs.prompt.end());
    out.completion = plan.batch.sequence_length - out.prompt;
    if (pairs.padded) {
        // Prompts where there are several, else completions: what these lack is counted as if it were scored, so that
        // no batch needs more.
        // Of several processes one may have the end of a group and the beginning of the next one.
        const bool several = out.rows > grpo.num_generations || grpo.num_generations % out.rows != 0;
        out.prompts_differ = several && out.prompt > 1;
        // Completions that reach the limit lose all of their tokens (mask_truncated_completions).
        out.pads = out.prompts_differ || out.completion > 1 || grpo.masks_truncated;
    } else {
        out.prompts_differ = pairs.prompt.size() > 1;
        if (pairs.chosen_shorter.size() > 1)
            out.shorter = std::accumulate(pairs.chosen_shorter.begin(), pairs.chosen_shorter.end(), std::int64_t{0});
        out.pads = out.prompts_differ || out.shorter > 0;
    }
    return out;
}

bool batches_are_known(const TrainPlan& plan) {
    const PairLengths& pairs = plan.batch.pairs;
    const GrpoPlan& grpo = plan.preference.grpo;
    if (generates_pairs(plan.loop.kind)) return pairs.padded || pairs.prompt.size() == 1;
    if (pairs.padded || grpo.generation_steps(plan.training.gradient_accumulation_steps) == 1) return true;
    if (pairs.chosen_shorter.size() > 1) return false;
    // A batch of rows that all have the longest prompt would have no padding.
    return pairs.prompt.size() == 1 || longest_prompts(pairs, group_rows(plan).prompt) * grpo.num_generations <
                                           plan.training.per_device_train_batch_size;
}

}  // namespace vramfit
