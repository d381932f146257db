// Flags of a plan: batch, precision, checkpointing, optimizer, loop.
#include <algorithm>

#include <fmt/format.h>

#include "cli/flags/tables.hpp"
#include "cli/flags/values.hpp"
#include "model/step/optimizer.hpp"
#include "spec/training_names.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/other_loops.hpp"
#include "vramfit/spec/plan_names.hpp"

namespace vramfit::cli {

namespace {

constexpr const char* kTraining = "Training";

enum class Precision : std::uint8_t { none, bf16, fp16 };
constexpr Named<Precision> kPrecisions[] = {
    {"no", Precision::none}, {"bf16", Precision::bf16}, {"fp16", Precision::fp16}};

enum class Checkpoints : std::uint8_t { off, on, reentrant, non_reentrant };
constexpr Named<Checkpoints> kCheckpoints[] = {{"off", Checkpoints::off},
                                               {"on", Checkpoints::on},
                                               {"reentrant", Checkpoints::reentrant},
                                               {"non-reentrant", Checkpoints::non_reentrant}};

void set_reentrant(TrainPlan& plan, std::optional<bool> reentrant) {
    plan.training.use_reentrant = reentrant;
    if (plan.prepare_kbit) plan.prepare_kbit->use_reentrant = reentrant;
}

void choose_checkpointing(Job& job, std::string_view value, const std::string& where) {
    const Checkpoints chosen = value_from(value, where, kCheckpoints);
    job.plan.set_checkpointing(chosen != Checkpoints::off);
    const bool kind = chosen == Checkpoints::reentrant || chosen == Checkpoints::non_reentrant;
    set_reentrant(job.plan, kind ? std::optional(chosen == Checkpoints::reentrant) : std::nullopt);
}

void choose_precision(Job& job, std::string_view value, const std::string& where) {
    const Precision chosen = value_from(value, where, kPrecisions);
    job.plan.training.bf16 = chosen == Precision::bf16;
    job.plan.training.fp16 = chosen == Precision::fp16;
}

EvaluationPlan& evaluation_of(Job& job) {
    return job.plan.evaluation ? *job.plan.evaluation : job.plan.evaluation.emplace();
}

void choose_optimizer(Job& job, std::string_view value, const std::string& where) {
    const std::vector<std::string_view> names(std::begin(kOptimizerNames), std::end(kOptimizerNames));
    job.plan.training.optim = names[choice_from(value, where, names)];
}

/// transformers' names of the optimizers that are supported.
Words optimizer_words() {
    Words words;
    for (const std::string_view name : kOptimizerNames) {
        const auto has_name = [name](const model::OptimizerType* type) {
            return name == type->name || (type->alias && name == type->alias);
        };
        const auto all = all_optimizers();
        if (std::any_of(all.begin(), all.end(), has_name)) words.push_back(name);
    }
    return words;
}

constexpr PlanFlag kTrainingFlags[] = {
    {"batch", "per_device_train_batch_size batch_size", "N", nullptr, kTraining,
     "Sequences in each batch of one GPU [1]",
     [](Job& job, std::string_view value, const std::string& where) {
         job.plan.training.per_device_train_batch_size = integer_from(value, where);
     }},
    {"seq", "max_seq_length max_length sequence_length", "N", nullptr, kTraining, "Tokens in each sequence [1024]",
     [](Job& job, std::string_view value, const std::string& where) {
         job.plan.batch.sequence_length = integer_from(value, where);
     }},
    {"accumulate", "gradient_accumulation_steps", "N", nullptr, kTraining, "Gradient accumulation steps [1]",
     [](Job& job, std::string_view value, const std::string& where) {
         job.plan.training.gradient_accumulation_steps = integer_from(value, where);
     }},
    {"mixed-precision", "", "MODE", nullptr, kTraining, "Mixed precision (autocast): no, bf16 or fp16 [no]",
     choose_precision, 1, words_of<kPrecisions>},
    {"bf16", "", "BOOL", "true", "", "The library's name for --mixed-precision bf16",
     [](Job& job, std::string_view value, const std::string& where) {
         job.plan.training.bf16 = boolean_from(value, where);
     }},
    {"fp16", "", "BOOL", "true", "", "The library's name for --mixed-precision fp16",
     [](Job& job, std::string_view value, const std::string& where) {
         job.plan.training.fp16 = boolean_from(value, where);
     }},
    {"checkpointing", "", "MODE", nullptr, kTraining,
     "Gradient checkpointing: off, on (of the library's default kind), reentrant or non-reentrant [on with qlora, "
     "else off]",
     choose_checkpointing, 1, words_of<kCheckpoints>},
    {"gradient_checkpointing", "", "BOOL", "true", "", "The library's name for --checkpointing on",
     [](Job& job, std::string_view value, const std::string& where) {
         job.plan.set_checkpointing(boolean_from(value, where));
     },
     2},
    {"use_reentrant", "gradient_checkpointing_use_reentrant", "BOOL", "true", "", "The kind of checkpointing",
     [](Job& job, std::string_view value, const std::string& where) {
         set_reentrant(job.plan, boolean_from(value, where));
     },
     2},
    {"optim", "optimizer", "NAME", nullptr, kTraining, "Optimizer, named as in transformers [adamw_torch]",
     choose_optimizer, 1, optimizer_words},
    {"max-grad-norm", "", "X", nullptr, kTraining, "Clip gradients at this norm; 0: do not clip [1]",
     [](Job& job, std::string_view value, const std::string& where) {
         job.plan.training.max_grad_norm = number_from(value, where);
     }},
    {"use_liger_kernel", "use_liger", "BOOL", "true", kTraining, "Use the Liger kernels [false]",
     [](Job& job, std::string_view value, const std::string& where) {
         job.plan.training.use_liger_kernel = boolean_from(value, where);
     }},
    {"mask", "", "KIND", nullptr, kTraining,
     "Attention mask of each batch: absent, ones, left_padded or right_padded [ones]",
     [](Job& job, std::string_view value, const std::string& where) {
         job.plan.batch.attention_mask = value_from(value, where, kMaskNames);
     },
     1, words_of<kMaskNames>},
    {"eval-batch", "per_device_eval_batch_size eval_batch_size", "N", nullptr, kTraining,
     "Evaluate after each step, with N sequences in each batch of one GPU [no evaluation]",
     [](Job& job, std::string_view value, const std::string& where) {
         evaluation_of(job).per_device_eval_batch_size = integer_from(value, where);
         evaluation_of(job).every = 1;
     }},
    {"eval_on_start", "", "BOOL", "true", "", "Evaluate before the first step as well",
     [](Job& job, std::string_view value, const std::string& where) {
         if (boolean_from(value, where) || job.plan.evaluation) evaluation_of(job).on_start = value != "false";
     },
     2},
    {"eval_accumulation_steps", "", "N", nullptr, "", "Batches of an evaluation before its losses go to the host",
     [](Job& job, std::string_view value, const std::string& where) {
         evaluation_of(job).accumulation = integer_from(value, where);
     },
     2},
    {"loop", "", "KIND", nullptr, kTraining,
     "trainer (transformers' Trainer), plain (a training loop of your own), sft, dpo, reward, kto, orpo, cpo, grpo, "
     "rloo, gkd, online_dpo, prm, bco or ppo (trl's SFTTrainer, DPOTrainer, RewardTrainer, KTOTrainer, ORPOTrainer, "
     "CPOTrainer, GRPOTrainer, RLOOTrainer, GKDTrainer, OnlineDPOTrainer, PRMTrainer, BCOTrainer, PPOTrainer) or "
     "unsloth "
     "(Unsloth's own step) [trainer]",
     [](Job& job, std::string_view value, const std::string& where) {
         if (is_other_loop(value))
             throw Error(ErrorKind::unsupported, where, fmt::format("{} is not predicted", value), kPredictedLoops);
         job.plan.loop.kind = value_from(value, where, kLoopNames);
     },
     1, words_of<kLoopNames>},
    {"steps", "max_steps", "N", nullptr, kTraining, "Optimizer steps; the second stands for all later ones [2]",
     [](Job& job, std::string_view value, const std::string& where) {
         job.plan.loop.steps = integer_from(value, where);
     }},
};

}  // namespace

std::span<const PlanFlag> training_flags() { return kTrainingFlags; }

}  // namespace vramfit::cli
