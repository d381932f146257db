// trl 1.16.0 trainer/grpo_config.py, rloo_config.py, grpo_trainer.py: arguments, and the lengths that they allow.
#include "trainers/grpo.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "trainers/common.hpp"
#include "trainers/keys/trl_grpo.hpp"
#include "trainers/preferences.hpp"
#include "trainers/scripts.hpp"
#include "trainers/second_networks.hpp"
#include "trainers/trl_model.hpp"
#include "vramfit/spec/plan_names.hpp"
#include "vramfit/spec/vllm_arguments.hpp"

namespace vramfit::trainers {

// GRPOConfig.__post_init__, RLOOConfig.__post_init__.
void read_generation(Reader& reader, TrainPlan& plan) {
    GrpoPlan& grpo = plan.preference.grpo;
    const TrainerQuestion& question = reader.question();
    const bool knows_gpus = question.gpus || question.files.size() == 1;  // another file may say it
    const std::int64_t batch = plan.training.per_device_train_batch_size * question.gpus.value_or(1);
    grpo.num_generations = reader.integer_or("num_generations", grpo.num_generations, {.low = 2});
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
                       fmt::format("{} stops: generation_batch_size ({}) must be divisible by num_generations ({})",
                                   by_ms_swift(plan) ? "ms-swift" : "trl", all, grpo.num_generations),
                       "a batch times steps_per_generation that is a multiple of it");
}

namespace {

void read_group_loss(Reader& reader, GrpoPlan& grpo) {
    const std::string loss = reader.text("loss_type").value_or("dapo");
    for (const Named<GroupLoss>& each : kGroupLossNames)
        if (each.name == loss) {
            grpo.loss = each.value;
            return;
        }
    reader.refuse("loss_type", fmt::format("the loss '{}' is not predicted", loss),
                  "predicted: dapo, grpo, bnpo, dr_grpo, cispo, sapo, luspo, vespo");
}

}  // namespace

void read_ratios(Reader& reader, GrpoPlan& grpo) {
    if (const auto level = choice<SamplingLevel>(reader, "importance_sampling_level", kSamplingLevelNames))
        grpo.level = *level;
    grpo.corrects_divergence = reader.boolean("use_bias_correction_kl");
    const Value* delta = reader.value("delta");
    grpo.clips_both_sides = delta && delta->kind != Value::Kind::null;
}

void read_reward_scale(Reader& reader, GrpoPlan& grpo, std::string_view key) {
    const Value* given = reader.value(key);
    if (given && given->kind == Value::Kind::boolean)
        grpo.scale = reader.boolean(key).value_or(true) ? RewardScale::group : RewardScale::none;
    else if (const auto scale = choice<RewardScale>(reader, key, kRewardScaleNames))
        grpo.scale = *scale;
}

namespace {

/// Completions are as long as the arguments allow; prompts are the data's, which releases before 0.26 cut.
void read_group_rows(Reader& reader, const GroupTrainer& trainer, Draft& draft) {
    GroupRowsDraft& rows = draft.group.emplace();
    const Value* given = reader.document().root.at("max_completion_length");
    if (given && given->kind == Value::Kind::null)
        reader.invalid("max_completion_length", "without a limit a completion may be as long as the model allows",
                       "a number of tokens");
    rows.completion = reader.integer_or("max_completion_length", reader.stack().group_completion_tokens(), {.low = 1});
    rows.prompt = reader.integer("max_prompt_length", {.low = 1});
    if (!rows.prompt) return;
    const std::string what =
        fmt::format("{} of trl {} has no such argument", trainer.config, text_of(reader.stack().trl));
    const Syntax syntax = reader.document().syntax;
    if (syntax == Syntax::python)
        reader.invalid("max_prompt_length", what, "take it out; without it: --assume-off max_prompt_length");
    else
        reader.note(RemarkKind::odd_value, fmt::format("max_prompt_length: {}: prompts are not cut", what),
                    "drop what is longer from the data");
}

/// rloo_config.py: what is taken from rewards and advantages.
void read_leave_one_out(Reader& reader, GrpoPlan& plan) {
    plan.normalizes_advantages = reader.boolean("normalize_advantages").value_or(false);
    const Value* range = reader.value("reward_clip_range");
    plan.clips_rewards = range && range->kind != Value::Kind::null;
}

/// What generates in place of transformers. Without use_vllm trl does not look at the others.
void read_vllm(Reader& reader, LoopKind loop, GrpoPlan& plan) {
    const bool used = reader.boolean("use_vllm").value_or(false);
    VllmArguments asked;
    asked.mode = reader.text("vllm_mode").value_or(asked.mode);
    asked.share = reader.real("vllm_gpu_memory_utilization").value_or(asked.share);
    asked.sleeps = reader.boolean("vllm_enable_sleep_mode").value_or(false);
    asked.tensor_parallel = reader.integer("vllm_tensor_parallel_size", {.low = 1}).value_or(1);
    asked.context = reader.integer("vllm_max_model_length", {.low = 1});
    GrpoPlan corrected;
    if (loop == LoopKind::grpo) {
        corrected.corrects_sampling = reader.boolean("vllm_importance_sampling_correction").value_or(true);
        corrected.correction =
            choice<SamplingCorrectionMode>(reader, "vllm_importance_sampling_mode", kSamplingCorrectionNames)
                .value_or(corrected.correction);
    }
    if (!used) return;
    if (const auto problem = problem_of(asked)) {
        if (problem->kind == ErrorKind::invalid)
            reader.invalid(problem->key, problem->what, problem->hint);
        else
            reader.refuse(problem->key, problem->what, problem->hint);
        return;
    }
    put(asked, plan);
    plan.corrects_sampling = corrected.corrects_sampling;
    plan.correction = corrected.correction;
}

/// Keys of RLOO alone.
constexpr std::string_view kOnlyRloo[] = {"normalize_advantages", "reward_clip_range"};

}  // namespace

void read_sampling(Reader& reader, GrpoPlan& grpo) {
    if (const auto temperature = reader.real("temperature")) grpo.has_temperature = *temperature != 1;
    const double penalty = reader.real("repetition_penalty").value_or(1);
    grpo.penalizes_repetition = penalty != 1;
    if (penalty <= 0)
        reader.invalid(
            "repetition_penalty",
            fmt::format("transformers stops: `penalty` has to be a strictly positive float, but is {}", penalty),
            "a number above 0, 1.1");
    if (grpo.generates_by_vllm()) return;
    const auto share = [&](const char* key) {
        const std::optional<double> given = reader.real(key);
        if (given && *given > 1)
            reader.invalid(key,
                           fmt::format("transformers stops: `{}` has to be between 0 and 1, but is {}", key, *given),
                           "a number between 0 and 1");
        return given;
    };
    grpo.top_k = reader.integer_or("top_k", 0);
    grpo.has_top_p = share("top_p").value_or(1) < 1;
    grpo.has_min_p = share("min_p").has_value();
}

bool says_rloo(const Document& document) {
    const auto named = [](std::string_view text) { return text.find("rloo") != text.npos; };
    if (named(document.file)) return true;
    for (const std::string_view key : kOnlyRloo)
        if (document.root.find(key)) return true;
    for (const char* key : {"output_dir", "hub_model_id", "run_name"})
        if (const Value* value = document.root.find(key); value && named(value->text)) return true;
    return false;
}

bool is_for_group_trainer(const Document& document, const GroupTrainer& trainer,
                          bool (*says)(const Document& document)) {
    if (!document.launcher.empty() || document.root.kind != Value::Kind::map) return false;
    const std::string_view program = document.program;
    if (program == trainer.command) return true;
    if (!document.root.find("model_name_or_path") || document.syntax == Syntax::python) return false;
    if (!program.empty()) return program == trainer.scripts[0] || program == trainer.scripts[1];
    return says(document);
}

void read_groups(Reader& reader, const GroupTrainer& trainer, Draft& draft) {
    TrainPlan& plan = draft.job.plan;
    plan.loop.kind = trainer.loop;
    reader.derive("loop.kind", std::string(name_of(trainer.loop)), std::string(trainer.name));
    draft.no_fsdp = draft.no_zero = draft.no_zero3 = nullptr;
    read_ddp(reader, draft);
    GrpoPlan& grpo = plan.preference.grpo;
    grpo = plan_of_groups(trainer.loop);
    read_generation(reader, plan);
    if (trainer.loop == LoopKind::rloo) {
        read_leave_one_out(reader, grpo);
    } else {
        read_group_loss(reader, grpo);
        read_ratios(reader, grpo);
        read_reward_scale(reader, grpo);
    }
    read_vllm(reader, trainer.loop, grpo);
    if (const auto beta = reader.real("beta")) grpo.has_reference = *beta != 0;
    plan.preference.syncs_reference = reader.boolean("sync_ref_model").value_or(false);
    read_sampling(reader, grpo);
    if (!reader.boolean("ds3_gather_for_generation").value_or(true))
        reader.refuse("ds3_gather_for_generation",
                      "generation by weights that are gathered layer by layer is not predicted", "true");
    grpo.masks_truncated = reader.boolean("mask_truncated_completions").value_or(false);
    grpo.max_completion_length.reset();  // as long as the rows are
    plan.preference.disable_dropout = reader.boolean("disable_dropout").value_or(false);
    refuse_evaluation(reader, "generation during evaluation is not predicted", draft);
    read_group_rows(reader, trainer, draft);
}

void read_group_file(Reader& reader, const GroupTrainer& trainer, Draft& draft) {
    draft.training_read = true;
    read_training_arguments(reader, kTrlDefaults, draft);
    read_trl_model(reader, draft);
    read_groups(reader, trainer, draft);
    read_reward_model_of_trl(reader, draft);
}

void read_group_script(Reader& reader, const GroupTrainer& trainer, Draft& draft) {
    draft.training_read = true;
    if (!judge_script(reader)) return;
    const std::string config = reader.text("config_class").value_or(std::string(trainer.config));
    if (config.find(trainer.config) == config.npos)
        reader.invalid("config_class", fmt::format("{} takes no {}", trainer.name, config),
                       std::string(trainer.config));
    read_training_arguments(reader, kTrlDefaults, draft);
    draft.job.plan.loop.kind = trainer.loop;
    read_script_network(reader, true, draft);
    draft.job.plan.trl_makes_adapters = !reader.has("adapted");
    read_groups(reader, trainer, draft);
    read_reward_sources(reader, draft);
}

}  // namespace vramfit::trainers
