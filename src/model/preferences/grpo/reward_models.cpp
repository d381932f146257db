// trl 1.16 trainer/grpo_trainer.py GRPOTrainer._calculate_rewards, and the same of rloo_trainer.py.
#include "model/preferences/grpo/reward_models.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "engine/autocast.hpp"
#include "engine/ops/copy.hpp"
#include "model/causal_lm/classification.hpp"
#include "model/causal_lm/mixed_precision.hpp"
#include "model/preferences/rows.hpp"
#include "model/second/second_network.hpp"
#include "vramfit/spec/pair_rows.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// The i-th of a list that goes on over and over.
std::int64_t length_of(const std::vector<std::int64_t>& list, std::int64_t row) {
    return list[static_cast<std::size_t>(row) % list.size()];
}

/// reward_func(**reward_inputs).logits: what is returned outlives the output, which has the cache.
Tensor scores_of(const Run& run, const Network& network, const Batch& batch) {
    const auto dtype = mixed_dtype(run.plan.training);
    const KvCachePointer cache = make_cache(run, network);
    if (!dtype) return pooled_scores(run, network, batch, cache, {}).pooled;
    Tensor scores;
    {
        const AutocastScope autocast(run.session, true, *dtype);
        scores = pooled_scores(run, network, batch, cache, {}).pooled;
    }
    return to(scores, DType::float32);
}

}  // namespace

// The completion's text has no end (skip_special_tokens); one that reaches max_completion_length, or may, had none.
RewardRows reward_rows(const Run& run, const SecondNetwork& model) {
    const GroupRows group = group_rows(run.plan);
    const PairLengths& pairs = run.plan.batch.pairs;
    const GrpoPlan& grpo = run.plan.preference.grpo;
    std::int64_t longest = 0, all = 0;
    for (std::int64_t row = 0; row < group.rows; ++row) {
        const std::int64_t completion = group.completion - length_of(pairs.chosen_shorter, row);
        const bool ends = grpo.max_completion_length && completion < *grpo.max_completion_length;
        const std::int64_t tokens = length_of(pairs.prompt, row / grpo.num_generations) + completion - (ends ? 1 : 0);
        longest = std::max(longest, tokens);
        all += tokens;
    }
    RewardRows out;
    out.pads = pairs.padded ? group.pads : all < longest * group.rows;
    out.shorter = pairs.padded ? 0 : longest * group.rows - all;
    out.length = model.sequence_length ? Size(*model.sequence_length)
                                       : run.sizes.length - (run.plan.batch.sequence_length - longest);
    return out;
}

void give_rewards(const Run& run, const Size& rows, std::size_t which, Batch& inputs) {
    const RewardRows of = reward_rows(run, run.plan.reward_models[which]);
    inputs = {};
    inputs.input_ids = moved(run, {rows, of.length}, DType::int64);
    inputs.attention_mask = moved(run, {rows, of.length}, DType::int64);
    inputs.padded = of.pads;
    inputs.missing.right = of.shorter;
    inputs.missing.is_unknown = run.plan.batch.pairs.padded;
    const RunSizes sizes{rows, of.length, 0};
    const Tensor scores =
        evaluated(run, run.evaluated_networks->reward_models[which], sizes,
                  [&](const Run& asked, const Network& network) { return scores_of(asked, network, inputs); });
}

}  // namespace vramfit::model
