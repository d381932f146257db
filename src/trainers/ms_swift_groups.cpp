// ms-swift 4.6 swift/arguments/rlhf_args.py RLHFArguments; rlhf_trainers/args_mixin.py GRPOArgumentsMixin.
#include "trainers/ms_swift_groups.hpp"

#include <algorithm>
#include <iterator>
#include <string>

#include <fmt/format.h>

#include "trainers/common.hpp"
#include "trainers/grpo.hpp"
#include "trainers/preferences.hpp"
#include "vramfit/spec/plan_names.hpp"

namespace vramfit::trainers {

namespace {

void read_loss(Reader& reader, GrpoPlan& groups) {
    const std::string loss = reader.text("loss_type").value_or("grpo");
    const auto known = std::find_if(std::begin(kGroupLossNames), std::end(kGroupLossNames),
                                    [&](const auto& each) { return each.name == loss; });
    if (known == std::end(kGroupLossNames))
        return reader.refuse("loss_type", fmt::format("the loss '{}' is not predicted", loss),
                             "predicted: grpo, dapo, bnpo, dr_grpo, cispo, sapo");
    groups.loss = known->value;
}

/// What is predicted with one value only.
void judge_estimator(Reader& reader) {
    if (const auto estimator = reader.text("advantage_estimator"); estimator && *estimator != "grpo")
        reader.refuse("advantage_estimator", fmt::format("the estimator '{}' is not predicted", *estimator), "grpo");
    for (const char* key : {"kl_in_reward", "overlong_filter", "dynamic_sample", "log_entropy", "sync_ref_model"})
        if (reader.boolean(key).value_or(false)) reader.refuse(key, "it is not predicted", "false");
    if (reader.boolean("use_vllm").value_or(false))
        reader.refuse("use_vllm", "generation by vLLM with ms-swift is not predicted", "false");
}

}  // namespace

void read_swift_groups(Reader& reader, Draft& draft) {
    TrainPlan& plan = draft.job.plan;
    GrpoPlan& groups = plan.preference.grpo;
    groups = plan_of_swift_groups();
    read_generation(reader, plan);
    read_loss(reader, groups);
    read_ratios(reader, groups);
    read_reward_scale(reader, groups);
    judge_estimator(reader);
    if (const auto beta = reader.real("beta")) groups.has_reference = *beta != 0;
    read_sampling(reader, groups);
    settle_swift_sampling(groups);
    groups.reward_functions = std::max<std::int64_t>(
        1, static_cast<std::int64_t>(reader.texts("reward_funcs").value_or(std::vector<std::string>()).size()));
    groups.max_completion_length.reset();  // as long as the rows are
    plan.preference.disable_dropout = false;
    refuse_evaluation(reader, "generation during evaluation is not predicted", draft);
    GroupRowsDraft& rows = draft.group.emplace();
    rows.completion = reader.integer_or("max_completion_length", 512, {.low = 1});
    rows.prompt = reader.integer("max_length", {.low = 1});
    rows.prompt_key = "max_length";
}

}  // namespace vramfit::trainers
