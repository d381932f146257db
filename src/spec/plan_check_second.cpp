// Whether a loop has the networks that stand beside the one that is trained.
#include <algorithm>

#include <fmt/format.h>

#include "spec/plan_check_parts.hpp"
#include "vramfit/spec/pair_rows.hpp"

namespace vramfit {

namespace {

/// Rows of the model's table of positions, where it has one: gpt2, opt.
void check_length(const SecondNetwork& second, std::int64_t tokens, std::string_view where, Problems& problems) {
    const bool learned = learns_positions(second.model);
    const std::int64_t rows = second.model.max_position_embeddings;
    if (learned && second.sequence_length.value_or(tokens) > rows)
        problems.invalid(where,
                         fmt::format("{} tokens, but its table of positions has {} rows",
                                     second.sequence_length.value_or(tokens), rows),
                         "shorter rows, or another model");
}

}  // namespace

// trl 1.16.0, grpo_trainer.py GRPOTrainer.__init__.
void check_seconds(const TrainPlan& plan, Problems& problems) {
    const bool generates = generates_rows(plan.loop.kind);
    if (!generates && !plan.reward_models.empty())
        problems.invalid("loop.reward_models", "only GRPO and RLOO are given rewards", "loop.kind grpo or rloo");
    if (generates && reward_sources(plan) == 0)
        problems.invalid("loop.reward_functions",
                         "trl stops: no reward source provided. Pass `reward_funcs`, or an `environment_factory`",
                         "1, or reward_models");
    for (std::size_t i = 0; generates && i < plan.reward_models.size(); ++i)
        check_length(plan.reward_models[i], plan.batch.sequence_length,
                     fmt::format("loop.reward_models.{}.model", i), problems);
}

}  // namespace vramfit
