// Flags of a plan: generation and loss of GRPO and RLOO, and the lengths that trl's arguments allow where none is
// given.
#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "cli/flags/tables.hpp"
#include "cli/flags/values.hpp"
#include "vramfit/spec/plan_names.hpp"
#include "vramfit/spec/vllm_arguments.hpp"

namespace vramfit::cli {

namespace {

constexpr const char* kGrpo = "GRPO, RLOO and the generation of online DPO (--loop grpo, rloo, online_dpo)";

GrpoPlan& grpo_of(Job& job) { return job.plan.preference.grpo; }

/// A number from 0 to 1. Throws Error.
double share_from(std::string_view value, const std::string& where) {
    const double share = number_from(value, where);
    if (share > 1)
        throw Error(ErrorKind::invalid, where,
                    fmt::format("transformers stops: it has to be between 0 and 1, but is {}", share),
                    "a number between 0 and 1");
    return share;
}

/// What trl's arguments of vLLM may be, which has to generate. Throws Error.
void judge_vllm(const Job& job, const VllmArguments& asked, const std::string& where) {
    if (const auto problem = problem_of(asked)) throw Error(problem->kind, where, problem->what, problem->hint);
    if (!job.plan.preference.grpo.generates_by_vllm())
        throw Error(ErrorKind::invalid, where, "transformers generates, not vLLM", "add --use_vllm");
}

/// The same of arguments that say nothing to a server. Throws Error.
void judge_share(const Job& job, const VllmArguments& asked, const std::string& where) {
    judge_vllm(job, asked, where);
    if (job.plan.preference.grpo.vllm_on_server)
        throw Error(ErrorKind::invalid, where, "it is for vLLM in the trainer's process; a server has its own",
                    "leave it out, or give --vllm_mode colocate");
}

constexpr PlanFlag kGrpoFlags[] = {
    {"num_generations", "", "N", nullptr, kGrpo, "Completions of each prompt; --batch counts completions [8, RLOO: 2]",
     [](Job& job, std::string_view value, const std::string& where) {
         grpo_of(job).num_generations = integer_from(value, where);
     }},
    {"max_completion_length", "", "N", nullptr, kGrpo,
     "Tokens that a completion may have; without --completion each one has so many [512]",
     [](Job& job, std::string_view value, const std::string& where) {
         grpo_of(job).max_completion_length = integer_from(value, where);
     }},
    {"padded", "", "BOOL", "true", kGrpo,
     "The rows of a batch differ in length, up to --prompt and --completion, and are padded; false: all are as long "
     "[true]",
     [](Job& job, std::string_view value, const std::string& where) {
         job.plan.batch.pairs.padded = boolean_from(value, where);
     }},
    {"steps_per_generation", "", "N", nullptr, kGrpo,
     "Batches whose completions are generated at once [the steps of accumulation]",
     [](Job& job, std::string_view value, const std::string& where) {
         grpo_of(job).steps_per_generation = integer_from(value, where);
     }},
    {"num_iterations", "", "N", nullptr, kGrpo, "How often completions are trained on [1]",
     [](Job& job, std::string_view value, const std::string& where) {
         grpo_of(job).num_iterations = integer_from(value, where);
     }},
    {"beta", "", "X", nullptr, kGrpo,
     "Weight of the divergence from a reference; memory asks only whether it is 0, which needs no reference [0, RLOO: "
     "0.05]; of GKD the part of the mixture, between 0 and 1 [0.5]",
     [](Job& job, std::string_view value, const std::string& where) {
         const double beta = number_from(value, where);
         grpo_of(job).has_reference = beta != 0;
         job.plan.distillation.beta = beta;
     }},
    {"temperature", "", "X", nullptr, kGrpo, "Of sampling; memory asks only whether it is 1 [1]",
     [](Job& job, std::string_view value, const std::string& where) {
         grpo_of(job).has_temperature = number_from(value, where) != 1;
         job.plan.distillation.has_temperature = grpo_of(job).has_temperature;
     }},
    {"repetition_penalty", "", "X", nullptr, kGrpo, "Of sampling; memory asks only whether it is 1 [1]",
     [](Job& job, std::string_view value, const std::string& where) {
         const double penalty = number_from(value, where);
         if (penalty <= 0)
             throw Error(ErrorKind::invalid, where, "transformers stops: `penalty` has to be a strictly positive float",
                         "a number above 0");
         grpo_of(job).penalizes_repetition = penalty != 1;
     }},
    {"top_k", "", "N", nullptr, kGrpo, "Tokens are drawn from so many of the likeliest [0: from all]",
     [](Job& job, std::string_view value, const std::string& where) {
         grpo_of(job).top_k = integer_from(value, where);
     }},
    {"top_p", "", "X", nullptr, kGrpo,
     "Tokens are drawn from the likeliest with this share of the probability; memory asks only whether it is 1 [1]",
     [](Job& job, std::string_view value, const std::string& where) {
         grpo_of(job).has_top_p = share_from(value, where) < 1;
     }},
    {"min_p", "", "X", nullptr, kGrpo,
     "Tokens are drawn from those with this part of the likeliest one's probability; memory asks only whether it is "
     "given [none]",
     [](Job& job, std::string_view value, const std::string& where) {
         grpo_of(job).has_min_p = value != "none" && (share_from(value, where), true);
     }},
    {"mask_truncated_completions", "", "BOOL", "true", kGrpo,
     "Completions that end at the limit of tokens are not trained on [false]",
     [](Job& job, std::string_view value, const std::string& where) {
         grpo_of(job).masks_truncated = boolean_from(value, where);
     }},
    {"importance_sampling_level", "", "LEVEL", nullptr, kGrpo,
     "GRPO: token, or sequence (GSPO): what has a ratio to the old policy [token]",
     [](Job& job, std::string_view value, const std::string& where) {
         grpo_of(job).level = value_from(value, where, kSamplingLevelNames);
     }},
    {"delta", "", "X", nullptr, kGrpo,
     "GRPO: ratios are clipped above too, as in INTELLECT-2; memory asks only whether they are [none]",
     [](Job& job, std::string_view value, const std::string& where) {
         grpo_of(job).clips_both_sides = value != "none" && (number_from(value, where), true);
     }},
    {"use_bias_correction_kl", "", "BOOL", "true", kGrpo, "GRPO: the divergence is weighted by the ratio [true]",
     [](Job& job, std::string_view value, const std::string& where) {
         grpo_of(job).corrects_divergence = boolean_from(value, where);
     }},
    {"normalize_advantages", "", "BOOL", "true", kGrpo, "RLOO: advantages are normalized [false]",
     [](Job& job, std::string_view value, const std::string& where) {
         grpo_of(job).normalizes_advantages = boolean_from(value, where);
     }},
    {"use_vllm", "", "BOOL", "true", kGrpo,
     "vLLM generates, in the same process or on a server [false: transformers generates]",
     [](Job& job, std::string_view value, const std::string& where) {
         GrpoPlan& grpo = grpo_of(job);
         if (!boolean_from(value, where)) {
             grpo.vllm_share.reset();
             grpo.vllm_on_server = false;
         } else if (!grpo.generates_by_vllm()) {
             put(VllmArguments{}, grpo);
         }
     }},
    {"vllm_mode", "", "MODE", nullptr, kGrpo,
     "colocate: in the same process, its share of the GPU is kept free; server: on a GPU of its own [colocate]",
     [](Job& job, std::string_view value, const std::string& where) {
         VllmArguments asked;
         asked.mode = value;
         judge_vllm(job, asked, where);
         if (asked.on_server() || grpo_of(job).vllm_on_server) put(asked, grpo_of(job));
     }},
    {"vllm_gpu_memory_utilization", "", "X", nullptr, kGrpo, "The share of the GPU that vLLM takes [0.3]",
     [](Job& job, std::string_view value, const std::string& where) {
         VllmArguments asked;
         asked.share = number_from(value, where);
         judge_share(job, asked, where);
         grpo_of(job).vllm_share = asked.share;
     }},
    {"vllm_max_model_length", "", "N", nullptr, kGrpo,
     "Tokens of prompt and completion that vLLM keeps keys and values of; it stops where its share does not hold them "
     "[the model's]",
     [](Job& job, std::string_view value, const std::string& where) {
         judge_share(job, {}, where);
         grpo_of(job).vllm_context = integer_from(value, where);
     }},
    {"vllm_enable_sleep_mode", "", "BOOL", "true", kGrpo, "Not predicted: vLLM holds its share all the time [false]",
     [](Job& job, std::string_view value, const std::string& where) {
         VllmArguments asked;
         asked.sleeps = boolean_from(value, where);
         judge_vllm(job, asked, where);
     }},
    {"vllm_importance_sampling_correction", "", "BOOL", "true", kGrpo,
     "GRPO: the loss is corrected for the distance between vLLM's log-probabilities and the trainer's [true]",
     [](Job& job, std::string_view value, const std::string& where) {
         judge_vllm(job, {}, where);
         grpo_of(job).corrects_sampling = boolean_from(value, where);
     }},
    {"vllm_importance_sampling_mode", "", "MODE", nullptr, kGrpo,
     "GRPO: sequence_mask, sequence_truncate, token_mask or token_truncate [sequence_mask]",
     [](Job& job, std::string_view value, const std::string& where) {
         judge_vllm(job, {}, where);
         grpo_of(job).correction = value_from(value, where, kSamplingCorrectionNames);
     }},
};

}  // namespace

std::span<const PlanFlag> grpo_flags() { return kGrpoFlags; }

namespace {

/// What OnlineDPOConfig has of GRPOConfig's arguments.
bool is_of_online(std::string_view name) {
    constexpr std::string_view kOnline[] = {"padded", "temperature", "repetition_penalty", "top_k", "top_p", "min_p"};
    return std::find(std::begin(kOnline), std::end(kOnline), name) != std::end(kOnline);
}

/// trl 1.16 experimental/online_dpo/online_dpo_config.py: what is left out is trl's own.
void complete_online(Job& job, const IsGiven& given) {
    for (const PlanFlag& flag : kGrpoFlags)
        if (given(flag.name) && !is_of_online(flag.name))
            throw Error(ErrorKind::invalid, fmt::format("--{}", flag.name), "OnlineDPOTrainer has no such argument",
                        "leave it out");
    BatchPlan& batch = job.plan.batch;
    GrpoPlan& how = grpo_of(job);
    const GrpoPlan otherwise = plan_of_groups(job.plan.loop.kind);
    how.num_generations = otherwise.num_generations;
    how.has_reference = true;
    how.max_completion_length =
        given("max_new_tokens") ? job.plan.distillation.max_new_tokens : *otherwise.max_completion_length;
    if (!given("temperature")) how.has_temperature = otherwise.has_temperature;
    const std::int64_t completion = batch.sequence_length - batch.pairs.prompt.front();
    if (!given("prompt")) batch.pairs.prompt = {kGroupPrompt};
    if (!given("padded")) batch.pairs.padded = true;
    const std::int64_t prompt = batch.pairs.prompt.front();
    if (given("completion"))
        batch.sequence_length = prompt + completion;
    else if (!given("seq"))
        batch.sequence_length = prompt + *how.max_completion_length;
    // A longer completion is asked for by --completion alone.
    if (!given("max_new_tokens"))
        how.max_completion_length = std::max(*how.max_completion_length, batch.sequence_length - prompt);
}

}  // namespace

void complete_grpo(Job& job, const IsGiven& given) {
    const LoopKind kind = job.plan.loop.kind;
    if (generates_pairs(kind)) return complete_online(job, given);
    if (!generates_rows(kind)) {
        const auto is_of_gkd = [kind](std::string_view name) {
            const bool of_both = name == "temperature" || name == "padded";  // GKD's and PPO's
            return (kind == LoopKind::gkd && (of_both || name == "beta")) || (has_value_model(kind) && of_both);
        };
        if (kind == LoopKind::gkd && !given("padded")) job.plan.batch.pairs.padded = true;
        for (const PlanFlag& flag : kGrpoFlags)
            if (given(flag.name) && !is_of_gkd(flag.name))
                throw Error(ErrorKind::invalid, fmt::format("--{}", flag.name), "only GRPO and RLOO have it",
                            "add --loop grpo or --loop rloo");
        return;
    }
    const auto refuse_other = [&](const char* flag, LoopKind other, std::string_view trainer) {
        if (kind == other && given(flag))
            throw Error(ErrorKind::invalid, fmt::format("--{}", flag), fmt::format("{} has no such argument", trainer),
                        "leave it out");
    };
    refuse_other("normalize_advantages", LoopKind::grpo, "GRPOTrainer");
    for (const char* flag : {"vllm_importance_sampling_correction", "vllm_importance_sampling_mode",
                             "importance_sampling_level", "delta", "use_bias_correction_kl"})
        refuse_other(flag, LoopKind::rloo, "RLOOTrainer");
    BatchPlan& batch = job.plan.batch;
    GrpoPlan& grpo = grpo_of(job);
    const GrpoPlan otherwise = by_ms_swift(job.plan) ? plan_of_swift_groups() : plan_of_groups(kind);
    if (!given("num_generations")) grpo.num_generations = otherwise.num_generations;
    if (!given("beta")) grpo.has_reference = otherwise.has_reference;
    job.plan.preference.disable_dropout = false;
    const std::int64_t completion = batch.sequence_length - batch.pairs.prompt.front();
    if (!given("prompt")) batch.pairs.prompt = {kGroupPrompt};
    if (!given("padded")) batch.pairs.padded = true;
    if (!given("batch")) job.plan.training.per_device_train_batch_size = grpo.num_generations;  // one prompt's
    const std::int64_t prompt = batch.pairs.prompt.front();
    const bool is_of_stack = !given("max_completion_length") && !by_ms_swift(job.plan);
    const std::int64_t longest =
        is_of_stack ? job.stack.group_completion_tokens() : grpo.max_completion_length.value_or(512);
    if (given("completion"))
        batch.sequence_length = prompt + completion;
    else if (!given("seq"))
        batch.sequence_length = prompt + longest;
    if (!given("max_completion_length")) grpo.max_completion_length.reset();  // as long as the rows are
}

}  // namespace vramfit::cli
