// Job files: the arguments of trl's GRPOConfig and RLOOConfig.
#include <algorithm>

#include <fmt/format.h>

#include "spec/job_read.hpp"
#include "vramfit/spec/plan_names.hpp"
#include "vramfit/spec/vllm_arguments.hpp"

namespace vramfit {

namespace {

constexpr IntegerRange kTokensOfCompletion = {.low = 1, .high = std::int64_t{1} << 31};

constexpr std::string_view kIgnoredByGroups[] = {"epsilon",
                                                 "epsilon_high",
                                                 "shuffle_dataset",
                                                 "reward_weights",
                                                 "num_generations_eval",
                                                 "log_completions",
                                                 "log_multimodal",
                                                 "log_unique_prompts",
                                                 "num_completions_to_print",
                                                 "chat_template_kwargs",
                                                 "ref_model_mixup_alpha",
                                                 "ref_model_sync_steps",
                                                 "remove_unused_columns",
                                                 "vllm_model_impl",
                                                 "vllm_structured_outputs_regex",
                                                 "vllm_server_base_url",
                                                 "vllm_server_host",
                                                 "vllm_server_port",
                                                 "vllm_server_timeout",
                                                 "vllm_group_port"};
constexpr std::string_view kIgnoredByGrpo[] = {"vllm_importance_sampling_cap", "vllm_importance_sampling_clip_max",
                                               "vllm_importance_sampling_clip_min"};
constexpr RefusedKey kRefusedByGroups[] = {
    {"use_transformers_continuous_batching", "generation by continuous batching is not supported"},
    {"use_transformers_paged", "generation by continuous batching is not supported"},
    {"cache_implementation", "another cache of keys and values is not supported"},
    {"generation_kwargs", "further arguments of generation are not supported"},
};
/// What RLOOConfig has no key for.
constexpr RefusedKey kRefusedByGrpo[] = {
    {"cast_lm_head_to_fp32", "a head in float32 (cast_lm_head_to_fp32) is not supported"},
    {"use_adaptive_entropy", "a bonus for entropy (use_adaptive_entropy) is not supported"},
    {"off_policy_mask_threshold", "a mask of what is off policy is not supported"},
};
/// What only the loss of GRPO asks.
void read_group_loss(ObjectReader& training, GrpoPlan& plan) {
    ObjectReader::set(plan.loss, training.choice<GroupLoss>("loss_type", kGroupLossNames));
    ObjectReader::set(plan.level, training.choice<SamplingLevel>("importance_sampling_level", kSamplingLevelNames));
    if (const auto given = training.boolean("use_bias_correction_kl")) plan.corrects_divergence = *given;
    if (training.has("delta")) plan.clips_both_sides = training.real("delta", {}, Null::absent).has_value();
}

/// transformers 5.17 generation/logits_process.py RepetitionPenaltyLogitsProcessor.__init__.
void read_repetition_penalty(ObjectReader& training, GrpoPlan& plan) {
    const JsonValue* given = training.value("repetition_penalty");
    const bool is_whole = given && given->kind == JsonValue::Kind::integer;
    const auto penalty = training.real("repetition_penalty", {});
    if (!penalty) return;
    plan.penalizes_repetition = *penalty != 1;
    if (*penalty <= 0 || (is_whole && plan.penalizes_repetition))
        training.problems().invalid(
            training.path("repetition_penalty"),
            fmt::format("transformers stops: `penalty` has to be a strictly positive float, but is {}", *penalty),
            "a number above 0 with a decimal point, 1.1");
}

/// A name, or whether to.
void read_reward_scale(ObjectReader& training, GrpoPlan& plan) {
    const JsonValue* value = training.value("scale_rewards");
    if (value && value->kind == JsonValue::Kind::boolean) {
        training.skip("scale_rewards");
        plan.scale = value->boolean ? RewardScale::group : RewardScale::none;
        return;
    }
    ObjectReader::set(plan.scale, training.choice<RewardScale>("scale_rewards", kRewardScaleNames));
}

/// RLOO: what is taken from rewards and advantages.
void read_leave_one_out(ObjectReader& training, GrpoPlan& plan) {
    ObjectReader::set(plan.normalizes_advantages, training.boolean("normalize_advantages"));
    const JsonValue* range = training.value("reward_clip_range");
    training.skip("reward_clip_range");
    if (!range || range->kind == JsonValue::Kind::null) return;
    const auto is_number = [](const JsonValue& each) {
        return each.kind == JsonValue::Kind::integer || each.kind == JsonValue::Kind::real;
    };
    plan.clips_rewards = true;
    if (range->kind != JsonValue::Kind::list || range->items.size() != 2 ||
        !std::all_of(range->items.begin(), range->items.end(), is_number))
        training.problems().invalid(training.path("reward_clip_range"), "it is the lowest and the highest reward",
                                    "two numbers, [-1, 1]");
}

/// What is supported with one value only, which is trl's where nothing is said.
struct NumberOfGrpo {
    std::string_view key;
    double only;
};
constexpr NumberOfGrpo kNumbersOfGrpo[] = {{"entropy_coef", 0}, {"top_entropy_quantile", 1}};
struct WordOfGrpo {
    std::string_view key, only;
};
constexpr WordOfGrpo kWordsOfGrpo[] = {{"multi_objective_aggregation", "sum_then_normalize"}};

/// What generates in place of transformers. Without use_vllm trl does not look at the others.
void read_vllm(ObjectReader& training, LoopKind kind, GrpoPlan& plan) {
    const bool used = training.boolean("use_vllm").value_or(false);
    VllmArguments asked;
    ObjectReader::set(asked.mode, training.text("vllm_mode"));
    ObjectReader::set(asked.share, training.real("vllm_gpu_memory_utilization", {}));
    ObjectReader::set(asked.sleeps, training.boolean("vllm_enable_sleep_mode"));
    ObjectReader::set(asked.tensor_parallel, training.integer("vllm_tensor_parallel_size", {.low = 1}));
    asked.context = training.integer("vllm_max_model_length", {.low = 1}, Null::absent);
    GrpoPlan corrected;
    if (kind == LoopKind::grpo) {
        ObjectReader::set(corrected.corrects_sampling, training.boolean("vllm_importance_sampling_correction"));
        ObjectReader::set(corrected.correction, training.choice<SamplingCorrectionMode>("vllm_importance_sampling_mode",
                                                                                        kSamplingCorrectionNames));
    }
    if (!used) return;
    if (const auto problem = problem_of(asked)) {
        Problems& problems = training.problems();
        if (problem->kind == ErrorKind::invalid)
            problems.invalid(training.path(problem->key), problem->what, problem->hint);
        else
            problems.unsupported(training.path(problem->key), problem->what, problem->hint);
        return;
    }
    put(asked, plan);
    plan.corrects_sampling = corrected.corrects_sampling;
    plan.correction = corrected.correction;
}

/// What transformers draws tokens from, with a warper for each (generation/logits_process.py); vLLM draws in memory of
/// its own.
void read_drawn_from(ObjectReader& training, GrpoPlan& plan) {
    GrpoPlan asked;
    ObjectReader::set(asked.top_k, training.integer("top_k", {.low = 0}, Null::absent));
    if (const auto share = training.real("top_p", {.low = 0, .high = 1})) asked.has_top_p = *share < 1;
    if (training.has("min_p"))
        asked.has_min_p = training.real("min_p", {.low = 0, .high = 1}, Null::absent).has_value();
    if (plan.generates_by_vllm()) return;
    plan.top_k = asked.top_k;
    plan.has_top_p = asked.has_top_p;
    plan.has_min_p = asked.has_min_p;
}

void judge_values_of_grpo(ObjectReader& training, LoopKind kind) {
    const auto refuse = [&](std::string_view key, const std::string& only) {
        training.problems().unsupported(training.path(key), "another value is not supported", only);
    };
    if (kind == LoopKind::rloo) return;
    for (const NumberOfGrpo& each : kNumbersOfGrpo)
        if (const auto given = training.real(each.key, {}); given && *given != each.only)
            refuse(each.key, fmt::format("{}", each.only));
    for (const WordOfGrpo& each : kWordsOfGrpo)
        if (const auto given = training.text(each.key); given && *given != each.only)
            refuse(each.key, std::string(each.only));
}

}  // namespace

/// trl.GRPOConfig and RLOOConfig of 1.16.0.
void read_grpo(ObjectReader& training, LoopKind kind, TrainingPlan& arguments, PreferencePlan& preference) {
    GrpoPlan& plan = preference.grpo;
    ObjectReader::set(plan.num_generations, training.integer("num_generations", {.low = 2}));
    const auto rows = training.integer("generation_batch_size", {.low = 1}, Null::absent);
    plan.steps_per_generation = training.integer("steps_per_generation", {.low = 1}, Null::absent);
    if (rows && plan.steps_per_generation)
        training.problems().invalid(training.path("generation_batch_size"),
                                    "trl stops: 'generation_batch_size' and 'steps_per_generation' can not be both "
                                    "configured at the same time",
                                    "leave one out");
    else if (rows && *rows % arguments.per_device_train_batch_size != 0)
        training.problems().invalid(training.path("generation_batch_size"),
                                    fmt::format("trl stops: generation_batch_size ({}) must be divisible by the global "
                                                "batch size ({})",
                                                *rows, arguments.per_device_train_batch_size),
                                    "a multiple of the batch");
    else if (rows)
        plan.steps_per_generation = *rows / arguments.per_device_train_batch_size;
    ObjectReader::set(plan.num_iterations, training.integer("num_iterations", {.low = 1}));
    if (training.has("max_completion_length"))
        plan.max_completion_length = training.integer("max_completion_length", kTokensOfCompletion, Null::absent);
    if (const auto beta = training.real("beta", {})) plan.has_reference = *beta != 0;
    ObjectReader::set(preference.syncs_reference, training.boolean("sync_ref_model"));
    if (kind == LoopKind::grpo) {
        read_group_loss(training, plan);
        read_reward_scale(training, plan);
    } else {
        read_leave_one_out(training, plan);
    }
    read_vllm(training, kind, plan);
    judge_values_of_grpo(training, kind);
    read_drawn_from(training, plan);
    if (const auto temperature = training.real("temperature", {})) plan.has_temperature = *temperature != 1;
    read_repetition_penalty(training, plan);
    ObjectReader::set(plan.masks_truncated, training.boolean("mask_truncated_completions"));
    if (!training.boolean("ds3_gather_for_generation").value_or(true))
        training.problems().unsupported(training.path("ds3_gather_for_generation"),
                                        "generation by weights that are gathered layer by layer is not supported",
                                        "true");
    judge_others(training, kRefusedByGroups, kIgnoredByGroups);
    if (kind == LoopKind::grpo) judge_others(training, kRefusedByGrpo, kIgnoredByGrpo);
}

void put_grpo(const TrainPlan& plan, JsonValue& arguments) {
    const GrpoPlan& grpo = plan.preference.grpo;
    arguments.put("num_generations", JsonValue::of(grpo.num_generations));
    if (grpo.steps_per_generation) arguments.put("steps_per_generation", JsonValue::of(*grpo.steps_per_generation));
    arguments.put("num_iterations", JsonValue::of(grpo.num_iterations));
    arguments.put("max_completion_length",
                  grpo.max_completion_length ? JsonValue::of(*grpo.max_completion_length) : JsonValue{});
    // Of numbers memory asks only whether they are 0 or 1.
    if (plan.loop.kind == LoopKind::rloo) {
        arguments.put("beta", grpo.has_reference ? JsonValue::of(0.05) : JsonValue::of(std::int64_t{0}));
        if (grpo.normalizes_advantages) arguments.put("normalize_advantages", JsonValue::of(true));
        if (grpo.clips_rewards)
            arguments.put("reward_clip_range", JsonValue::list({JsonValue::of(-1.0), JsonValue::of(1.0)}));
    } else {
        arguments.put("loss_type", JsonValue::of(name_of(grpo.loss)));
        if (grpo.scale != RewardScale::group) arguments.put("scale_rewards", JsonValue::of(name_of(grpo.scale)));
        if (grpo.has_reference || by_ms_swift(plan))
            arguments.put("beta", JsonValue::of(grpo.has_reference ? 0.04 : 0.0));
        if (grpo.level != SamplingLevel::token)
            arguments.put("importance_sampling_level", JsonValue::of(name_of(grpo.level)));
        if (grpo.corrects_divergence) arguments.put("use_bias_correction_kl", JsonValue::of(*grpo.corrects_divergence));
        if (grpo.clips_both_sides) arguments.put("delta", JsonValue::of(4.0));
    }
    if (grpo.has_temperature || by_ms_swift(plan))
        arguments.put("temperature", JsonValue::of(grpo.has_temperature ? 0.9 : 1.0));
    if (grpo.penalizes_repetition) arguments.put("repetition_penalty", JsonValue::of(1.1));
    if (grpo.top_k > 0) arguments.put("top_k", JsonValue::of(grpo.top_k));
    if (grpo.has_top_p) arguments.put("top_p", JsonValue::of(0.9));
    if (grpo.has_min_p) arguments.put("min_p", JsonValue::of(0.1));
    if (grpo.masks_truncated) arguments.put("mask_truncated_completions", JsonValue::of(true));
    if (grpo.generates_by_vllm()) {
        arguments.put("use_vllm", JsonValue::of(true));
        if (grpo.vllm_on_server) arguments.put("vllm_mode", JsonValue::of("server"));
        if (grpo.vllm_share) arguments.put("vllm_gpu_memory_utilization", JsonValue::of(*grpo.vllm_share));
        if (grpo.vllm_context) arguments.put("vllm_max_model_length", JsonValue::of(*grpo.vllm_context));
        if (plan.loop.kind == LoopKind::grpo) {
            arguments.put("vllm_importance_sampling_correction", JsonValue::of(grpo.corrects_sampling));
            arguments.put("vllm_importance_sampling_mode", JsonValue::of(name_of(grpo.correction)));
        }
    }
    if (plan.preference.syncs_reference) arguments.put("sync_ref_model", JsonValue::of(true));
    if (plan.preference.disable_dropout) arguments.put("disable_dropout", JsonValue::of(true));
}

}  // namespace vramfit
