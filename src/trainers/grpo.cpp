// trl 1.16.0 trainer/grpo_config.py, grpo_trainer.py: arguments, and the lengths that they allow.
#include "trainers/grpo.hpp"

#include <fmt/format.h>

#include "trainers/common.hpp"
#include "trainers/keys/trl_grpo.hpp"
#include "trainers/preferences.hpp"
#include "vramfit/spec/plan_names.hpp"

namespace vramfit::trainers {

namespace {

/// Batches that are generated at once (GRPOConfig.__post_init__).
void read_generation(Reader& reader, TrainPlan& plan) {
    GrpoPlan& grpo = plan.preference.grpo;
    const TrainerQuestion& question = reader.question();
    const bool knows_gpus = question.gpus || question.files.size() == 1;  // another file may say it
    const std::int64_t batch = plan.training.per_device_train_batch_size * question.gpus.value_or(1);
    grpo.num_generations = reader.integer_or("num_generations", 8, {.low = 2});
    grpo.num_iterations = reader.integer_or("num_iterations", 1, {.low = 1});
    const auto rows = reader.integer("generation_batch_size", {.low = 1});
    grpo.steps_per_generation = reader.integer("steps_per_generation", {.low = 1});
    if (rows && grpo.steps_per_generation)
        reader.invalid("generation_batch_size",
                       "trl stops: 'generation_batch_size' and 'steps_per_generation' can not be both configured at "
                       "the same time",
                       "leave one out");
    else if (rows && !knows_gpus)
        reader.refuse("generation_batch_size",
                      "it is divided by all processes' batches, of which other files may say how many there are",
                      "give --gpus N as well, or steps_per_generation");
    else if (rows && *rows % batch != 0)
        reader.invalid("generation_batch_size",
                       fmt::format("trl stops: generation_batch_size ({}) must be divisible by the global batch size "
                                   "({})",
                                   *rows, batch),
                       "a multiple of the batch");
    else if (rows)
        grpo.steps_per_generation = *rows / batch;
    const std::int64_t all = batch * grpo.generation_steps(plan.training.gradient_accumulation_steps);
    if (knows_gpus && all % grpo.num_generations != 0)
        reader.invalid("num_generations",
                       fmt::format("trl stops: generation_batch_size ({}) must be divisible by num_generations ({})",
                                   all, grpo.num_generations),
                       "a batch times steps_per_generation that is a multiple of it");
}

void read_group_loss(Reader& reader, GrpoPlan& grpo) {
    const std::string loss = reader.text("loss_type").value_or("dapo");
    for (const Named<GroupLoss>& each : kGroupLossNames)
        if (each.name == loss) {
            grpo.loss = each.value;
            return;
        }
    reader.refuse("loss_type", fmt::format("the loss '{}' is not predicted", loss),
                  "predicted: dapo, grpo, bnpo, dr_grpo");
}

/// A name, or whether to.
void read_reward_scale(Reader& reader, GrpoPlan& grpo) {
    const Value* given = reader.value("scale_rewards");
    if (given && given->kind == Value::Kind::boolean)
        grpo.scale = reader.boolean("scale_rewards").value_or(true) ? RewardScale::group : RewardScale::none;
    else if (const auto scale = choice<RewardScale>(reader, "scale_rewards", kRewardScaleNames))
        grpo.scale = *scale;
}

/// Completions are as long as the arguments allow; prompts are the data's, which releases before 0.26 cut.
void read_group_rows(Reader& reader, Draft& draft) {
    GroupRowsDraft& rows = draft.group.emplace();
    const Value* given = reader.document().root.at("max_completion_length");
    if (given && given->kind == Value::Kind::null)
        reader.invalid("max_completion_length", "without a limit a completion may be as long as the model allows",
                       "a number of tokens");
    rows.completion = reader.integer_or("max_completion_length", 512, {.low = 1});
    rows.prompt = reader.integer("max_prompt_length", {.low = 1});
    if (!rows.prompt) return;
    const std::string what = fmt::format("GRPOConfig of trl {} has no such argument", text_of(reader.stack().trl));
    const Syntax syntax = reader.document().syntax;
    if (syntax == Syntax::python)
        reader.invalid("max_prompt_length", what, "take it out; without it: --assume-off max_prompt_length");
    else
        reader.note(RemarkKind::odd_value, fmt::format("max_prompt_length: {}: prompts are not cut", what),
                    "drop what is longer from the data");
}

}  // namespace

void read_groups(Reader& reader, Draft& draft) {
    TrainPlan& plan = draft.job.plan;
    plan.loop.kind = LoopKind::grpo;
    reader.derive("loop.kind", "grpo", "GRPOTrainer");
    draft.no_fsdp = "FSDP in training with rewards is not predicted";
    draft.no_zero = nullptr;
    draft.no_zero3 = "ZeRO-3 in training with rewards is not predicted";
    read_ddp(reader, draft);
    GrpoPlan& grpo = plan.preference.grpo;
    read_generation(reader, plan);
    read_group_loss(reader, grpo);
    read_reward_scale(reader, grpo);
    grpo.has_reference = reader.real("beta").value_or(0) != 0;
    grpo.has_temperature = reader.real("temperature").value_or(1) != 1;
    grpo.max_completion_length.reset();  // as long as the rows are
    plan.preference.disable_dropout = reader.boolean("disable_dropout").value_or(false);
    if (draft.evaluation) {
        reader.refuse(draft.evaluation->key, "generation during evaluation is not predicted",
                      "eval_strategy: no, or --assume-off eval_strategy");
        draft.evaluation.reset();
    }
    read_group_rows(reader, draft);
}

}  // namespace vramfit::trainers
