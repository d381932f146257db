// axolotl 0.19 core/trainers/grpo GRPOStrategy, core/builders/rl.py HFRLTrainerBuilder, utils/schemas/trl.py TRLConfig.
#include "trainers/axolotl_groups.hpp"

#include <algorithm>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "trainers/common.hpp"
#include "trainers/grpo.hpp"
#include "trainers/preferences.hpp"
#include "vramfit/spec/plan_names.hpp"
#include "vramfit/spec/vllm_arguments.hpp"

namespace vramfit::trainers {

namespace {

/// GRPOConfig.__post_init__; utils/schemas/validation.py check_grpo_batch_size_divisibility.
void read_axolotl_generation(Reader& reader, TrainPlan& plan) {
    GrpoPlan& grpo = plan.preference.grpo;
    const std::int64_t batch = plan.training.per_device_train_batch_size;
    grpo.num_generations = reader.integer_or("trl.num_generations", grpo.num_generations, {.low = 2});
    grpo.num_iterations = reader.integer_or("trl.num_iterations", 1, {.low = 1});
    if (const auto rows = reader.integer("trl.generation_batch_size", {.low = 1})) {
        if (*rows % batch != 0)
            reader.invalid("trl.generation_batch_size",
                           fmt::format("trl stops: generation_batch_size ({}) must be divisible by the global batch "
                                       "size ({})",
                                       *rows, batch),
                           "a multiple of micro_batch_size");
        else
            grpo.steps_per_generation = *rows / batch;
    }
    const std::int64_t all = batch * grpo.generation_steps(plan.training.gradient_accumulation_steps);
    if (all % grpo.num_generations != 0)
        reader.invalid("trl.num_generations",
                       fmt::format("axolotl stops: generation batch size ({}) must be divisible by "
                                   "trl.num_generations ({})",
                                   all, grpo.num_generations),
                       "a micro_batch_size times gradient_accumulation_steps that is a multiple of it");
}

void read_axolotl_group_loss(Reader& reader, GrpoPlan& grpo) {
    if (const auto loss = choice<GroupLoss>(reader, "trl.loss_type", kGroupLossNames)) grpo.loss = *loss;
    if (const auto level = choice<SamplingLevel>(reader, "trl.importance_sampling_level", kSamplingLevelNames))
        grpo.level = *level;
    read_reward_scale(reader, grpo, "trl.scale_rewards");
    grpo.corrects_divergence = reader.boolean("trl.use_bias_correction_kl");
    grpo.masks_truncated = reader.boolean("trl.mask_truncated_completions").value_or(false);
}

/// What the tokens are drawn from.
void read_axolotl_sampling(Reader& reader, GrpoPlan& grpo) {
    if (const auto temperature = reader.real("trl.temperature")) grpo.has_temperature = *temperature != 1;
    const double penalty = reader.real("trl.repetition_penalty").value_or(1);
    grpo.penalizes_repetition = penalty != 1;
    if (penalty <= 0)
        reader.invalid("trl.repetition_penalty", "transformers stops: it has to be strictly positive", "1.1");
    if (grpo.generates_by_vllm()) return;
    grpo.top_k = reader.integer("trl.top_k").value_or(0);
    grpo.has_top_p = reader.real("trl.top_p").value_or(1) < 1;
    grpo.has_min_p = reader.real("trl.min_p").has_value();
}

/// utils/schemas/validation.py GRPOVllmValidationMixin: a server where nothing is said; utils/schemas/vllm.py.
void read_axolotl_vllm(Reader& reader, GrpoPlan& grpo) {
    VllmArguments asked;
    asked.mode = reader.text("trl.vllm_mode").value_or("server");
    asked.share = reader.real("vllm.gpu_memory_utilization").value_or(0.9);
    asked.tensor_parallel = reader.integer("vllm.tensor_parallel_size", {.low = 1}).value_or(1);
    asked.sleeps = reader.boolean("trl.vllm_enable_sleep_mode").value_or(false);
    const bool corrects = reader.boolean("trl.vllm_importance_sampling_correction").value_or(true);
    const auto correction =
        choice<SamplingCorrectionMode>(reader, "trl.vllm_importance_sampling_mode", kSamplingCorrectionNames);
    if (!reader.boolean("trl.use_vllm").value_or(false)) return;
    if (const auto problem = problem_of(asked)) {
        const bool under_vllm = problem->key.find("utilization") != std::string::npos ||
                                problem->key.find("tensor_parallel") != std::string::npos;
        const std::string key = under_vllm
                                    ? fmt::format("vllm.{}", problem->key.substr(std::string_view("vllm_").size()))
                                    : fmt::format("trl.{}", problem->key);
        if (problem->kind == ErrorKind::invalid) return reader.invalid(key, problem->what, problem->hint);
        return reader.refuse(key, problem->what, problem->hint);
    }
    put(asked, grpo);
    grpo.corrects_sampling = corrects;
    if (correction) grpo.correction = *correction;
}

/// get_reward_func: a function by its module's name, or a model by a path of the hub.
void read_axolotl_rewards(Reader& reader, GrpoPlan& grpo) {
    const auto names = reader.texts("trl.reward_funcs").value_or(std::vector<std::string>());
    if (names.empty())
        return reader.invalid("trl.reward_funcs", "GRPO needs a function that rewards completions",
                              "trl: {reward_funcs: [module.function]}");
    grpo.reward_functions = static_cast<std::int64_t>(names.size());
    if (std::any_of(names.begin(), names.end(), [](const auto& name) { return name.find('/') != name.npos; }))
        reader.refuse("trl.reward_funcs", "a model that gives rewards is not predicted in axolotl's files",
                      "functions in Python");
}

/// What is predicted only where it is off.
void judge_axolotl_groups(Reader& reader) {
    const auto refuse_if_on = [&](const char* key, const char* what) {
        if (reader.boolean(key).value_or(false)) reader.refuse(key, what, "false");
    };
    refuse_if_on("trl.use_data_producer", "axolotl's asynchronous GRPO is not predicted");
    refuse_if_on("trl.async_prefetch", "axolotl's asynchronous GRPO is not predicted");
    refuse_if_on("trl.use_liger_loss", "Liger's loss of GRPO is not predicted");
    refuse_if_on("trl.use_adaptive_entropy", "a bonus for entropy is not predicted");
    if (reader.real("trl.entropy_coef").value_or(0) != 0)
        reader.refuse("trl.entropy_coef", "a bonus for entropy is not predicted", "0");
    if (const auto way = reader.text("trl.multi_objective_aggregation"); way && *way != "sum_then_normalize")
        reader.refuse("trl.multi_objective_aggregation", "rewards that are normalized one by one are not predicted",
                      "sum_then_normalize");
    for (const char* key : {"trl.off_policy_mask_threshold", "trl.rollout_func"})
        if (reader.has(key)) reader.refuse(key, "it is not predicted", "take it out");
}

/// Completions are as long as the file allows; prompts are not cut (utils/data/rl.py).
void read_axolotl_lengths(Reader& reader, Draft& draft) {
    const auto limit = reader.integer("trl.max_completion_length", {.low = 1});
    // GRPOStrategy.set_training_args_kwargs hands on what is not there as None, which is no limit.
    if (!limit)
        reader.invalid("trl.max_completion_length",
                       "axolotl hands trl no limit then, and a completion may be as long as the model allows",
                       "a number of tokens");
    draft.group.emplace().completion = limit.value_or(1);
    draft.length_limit = 0;
}

}  // namespace

void read_axolotl_groups(Reader& reader, Draft& draft) {
    TrainPlan& plan = draft.job.plan;
    GrpoPlan& grpo = plan.preference.grpo;
    grpo = plan_of_groups(LoopKind::grpo);
    read_axolotl_generation(reader, plan);
    read_axolotl_group_loss(reader, grpo);
    read_axolotl_vllm(reader, grpo);
    read_axolotl_sampling(reader, grpo);
    read_axolotl_rewards(reader, grpo);
    judge_axolotl_groups(reader);
    const char* const beta = reader.has("trl.beta") ? "trl.beta" : reader.has("rl_beta") ? "rl_beta" : "orpo_alpha";
    grpo.has_reference = reader.real(beta).value_or(0) != 0;
    // load_adapter makes them before the trainer, which then copies them.
    if (plan.peft && grpo.has_reference)
        reader.refuse(beta, "a copy of the adapters as the reference, which trl makes with a beta, is not predicted",
                      "beta: 0, trl's own value");
    plan.preference.syncs_reference = reader.boolean("trl.sync_ref_model").value_or(false);
    plan.preference.disable_dropout = false;
    grpo.max_completion_length.reset();  // as long as the rows are
    refuse_evaluation(reader, "generation during evaluation is not predicted", draft);
    read_axolotl_lengths(reader, draft);
}

}  // namespace vramfit::trainers
