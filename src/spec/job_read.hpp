// The parts of a job file, each read by one function.
#pragma once

#include <span>
#include <string_view>

#include "spec/json_value.hpp"
#include "spec/reader.hpp"
#include "vramfit/spec/device.hpp"
#include "vramfit/spec/environment.hpp"
#include "vramfit/spec/train_plan.hpp"

namespace vramfit {

void read_load(ObjectReader& load, LoadPlan& plan);
QuantizationPlan read_quantization(ObjectReader config);
PreparePlan read_prepare(ObjectReader arguments);
LoraPlan read_lora(ObjectReader config);
/// Of preference training all but what read_preference reads.
void read_training(ObjectReader& training, LoopKind kind, TrainingPlan& plan);
/// Evaluation by the arguments of TrainingArguments; nothing where none is asked for.
std::optional<EvaluationPlan> read_training_evaluation(ObjectReader& training);
/// The batches it is given.
void read_evaluation(ObjectReader evaluation, std::optional<EvaluationPlan>& plan);
void read_batch(ObjectReader batch, BatchPlan& plan);
void read_loop(ObjectReader& loop, LoopPlan& plan);
/// The key `model`: a name or path, or the content of a config.json.
void read_model_key(ObjectReader& job, const Environment& environment, ModelSpec& model);
/// By name where that gives the same network, else in full.
JsonValue model_to_value(const ModelSpec& spec);
JsonValue quantization_to_json(const QuantizationPlan& plan);
/// Of the key `loop` the networks beside the one that is trained.
void read_seconds(ObjectReader& loop, const Environment& environment, TrainPlan& plan);
void put_seconds(const TrainPlan& plan, JsonValue& loop);
/// `batch` of preference training, and what the config of trl's trainer adds to `training`.
void read_pairs(ObjectReader batch, LoopKind kind, BatchPlan& plan);
void read_llama_factory(ObjectReader& training, LoopKind kind, PreferencePlan& plan);

/// The same of ms-swift's; loss_type by trl's names.
void read_ms_swift(ObjectReader& training, LoopKind kind, PreferencePlan& plan);
/// Of its GRPO what other trainers have not.
void read_swift_groups(ObjectReader& training, TrainingPlan& arguments, PreferencePlan& plan);
/// loss_type of DPO, KTO and CPO, the last with what else decides about its loss.
void read_losses(ObjectReader& training, PreferencePlan& plan);
void read_unpaired_loss(ObjectReader& training, PreferencePlan& plan);
void read_cpo(ObjectReader& training, PreferencePlan& plan);
void read_preference(ObjectReader& training, LoopKind kind, TrainingPlan& arguments, PreferencePlan& plan);
/// Of GRPO and RLOO what other trainers have not.
void read_grpo(ObjectReader& training, LoopKind kind, TrainingPlan& arguments, PreferencePlan& plan);
void put_grpo(const TrainPlan& plan, JsonValue& arguments);
/// Of online DPO the same, and what PRMConfig has beside.
void read_online(ObjectReader& training, PreferencePlan& plan);
void put_online(const TrainPlan& plan, JsonValue& arguments);
inline constexpr std::string_view kIgnoredByPrm[] = {"max_completion_length", "step_separator",
                                                     "train_on_last_step_only"};
/// Of PPO the same, and its rows.
void read_ppo(ObjectReader& training, PpoPlan& plan);
void put_ppo(const TrainPlan& plan, JsonValue& arguments);
void read_ppo_rows(ObjectReader batch, TrainPlan& plan);
JsonValue ppo_rows_to_json(const TrainPlan& plan);
/// Of GKD the same.
void read_gkd(ObjectReader& training, DistillationPlan& plan);
void put_gkd(const DistillationPlan& plan, JsonValue& arguments);
/// A key that is refused unless it is null or false.
struct RefusedKey {
    std::string_view key;
    std::string_view what;
};
/// Refuses some keys and passes over others.
void judge_others(ObjectReader& training, std::span<const RefusedKey> refused,
                  std::span<const std::string_view> ignored);
/// The same, written.
JsonValue pairs_to_json(const TrainPlan& plan);
void put_preference(const TrainPlan& plan, JsonValue& arguments);
/// The key `unsloth`, what FastLanguageModel is told, as it decides how the network is loaded; and what its
/// loop adds to `batch` and `training`.
void read_unsloth(ObjectReader& job, TrainPlan& plan);
void read_unsloth_rows(ObjectReader& batch, BatchPlan& plan);
void read_unsloth_training(ObjectReader& training, UnslothPlan& plan);
JsonValue unsloth_to_json(const TrainPlan& plan);
/// `layer_class`: what FSDP makes units of; empty if it is not known.
DistributedPlan read_distributed(ObjectReader distributed, std::string_view layer_class);

/// `training.deepspeed`: one process, whose network is loaded before the training arguments are made.
std::optional<DistributedPlan> read_training_deepspeed(ObjectReader& training);
/// From the keys `device`, `card` and `environment` of the whole job; what the environment says of loading goes to
/// `load`.
Device read_device(ObjectReader& job, LoadPlan& load);

/// {"use_reentrant": bool} as arguments of torch.utils.checkpoint; null is none.
std::optional<bool> read_checkpointing_kwargs(ObjectReader& reader);

}  // namespace vramfit
