// The parts of the check of a plan that have files of their own.
#pragma once

#include "spec/problems.hpp"
#include "vramfit/spec/model_spec.hpp"
#include "vramfit/spec/modules.hpp"
#include "vramfit/spec/stack.hpp"
#include "vramfit/spec/train_plan.hpp"

namespace vramfit {

namespace network {
struct Facts;
}

/// transformers' Trainer or one that is made from it.
inline bool uses_trainer(const TrainPlan& plan) { return plan.loop.kind != LoopKind::plain; }

/// Than LoRA's two matrices.
inline bool has_more_in_layers(const LoraPlan& lora) {
    return lora.use_dora || lora.lora_bias || lora.bias != LoraBias::none || !lora.target_parameters.empty();
}
inline bool has_more_than_matrices(const LoraPlan& lora) {
    return has_more_in_layers(lora) || !lora.modules_to_save.empty();
}

/// Tokens of one row, with the virtual ones in front of it.
inline std::int64_t tokens_of_row(const TrainPlan& plan) {
    return plan.batch.sequence_length + (plan.peft ? plan.peft->options.virtual_tokens : 0);
}

/// LoRA's targets. `targets`: the modules that match.
void check_lora(const ModelSpec& model, const LoraPlan& lora, const std::vector<LoraTarget>& targets,
                Problems& problems);
/// Modules that peft puts neither LoRA nor kinds like it on.
void check_mamba_targets(const ModelSpec& model, const LoraPlan& lora, const std::vector<LoraTarget>& targets,
                         Problems& problems);

/// Adapters of other kinds than LoRA: their modules, and what else of the run they were compared with.
void check_other_kind(const ModelSpec& model, const LoraPlan& plan, const std::vector<LoraTarget>& targets,
                      Problems& problems);
void check_beside_other_kind(const ModelSpec& model, const TrainPlan& plan, const Stack& stack, Problems& problems);
/// Trained tokens that are no words of the model.
void check_tokens_are_known(const ModelSpec& model, const TrainPlan& plan, Problems& problems);
/// Trained tokens that are none, beside a trained embedding, or another module's.
void check_token_indices(const ModelSpec& model, const LoraPlan& plan, Problems& problems);

/// Where Trainer moves what was loaded in host memory.
void check_mover(const TrainPlan& plan, Problems& problems);

/// Cut cross entropy and optimizers that step in the backward pass.
void check_trainers_own(const TrainPlan& plan, Problems& problems);

/// The text part of a model of text and images, which is predicted where it is loaded alone.
void check_text_part(const ModelSpec& model, const TrainPlan& plan, Problems& problems, Notes& notes);

/// Networks that were recorded: what they were compared with.
void check_recording(const ModelSpec& model, const network::Facts& facts, const TrainPlan& plan, const Stack& stack,
                     Problems& problems, Notes& notes);

/// The same of networks whose layers share parameters, or stand in several lists.
void check_recorded_layers(const network::Document& recording, const network::Facts& facts, const TrainPlan& plan,
                           const Stack& stack, Problems& problems);

/// Evaluation in the course of training.
void check_evaluation(const ModelSpec& model, const TrainPlan& plan, Problems& problems);

/// Whether it has a table of positions, gpt2's.
bool learns_positions(const ModelSpec& model);

/// Networks beside the one that is trained.
void check_seconds(const ModelSpec& model, const TrainPlan& plan, Problems& problems);

/// Rows of preference training.
void check_pairs(const TrainPlan& plan, const Stack& stack, Problems& problems);
/// What trl generates from is predicted with rows of one length.
void note_rows_alike(const TrainPlan& plan, Notes& notes);

/// Unsloth's own step.
void check_unsloth(const ModelSpec& model, const TrainPlan& plan, const Stack& stack, Problems& problems);

/// Several processes: methods, libraries and what goes together.
void check_distributed(const TrainPlan& plan, const Stack& stack, Problems& problems);

/// Optimizers under FSDP1 and FSDP2.
void check_fsdp_optimizer(const TrainPlan& plan, const Stack& stack, Problems& problems);

/// More than LoRA's two matrices under FSDP1.
void check_fsdp1_adapters(const TrainPlan& plan, const Stack& stack, const Fsdp1Plan& fsdp, Problems& problems);

/// Adapters of routers and experts under FSDP1.
void check_fsdp1_targets(const TrainPlan& plan, const std::vector<LoraTarget>& targets, Problems& problems);

/// FSDP2 as axolotl prepares it.
void check_axolotl(const TrainPlan& plan, const Stack& stack, const Fsdp2Plan& fsdp, Problems& problems);

/// Losses with the head in them where FSDP cuts the head.
void check_head_losses(const ModelSpec& model, const TrainPlan& plan, const Stack& stack, Problems& problems);

/// Units by size under FSDP1 and FSDP2.
void check_size_units(const ModelSpec& model, const TrainPlan& plan, Problems& problems);

/// Packed weights under FSDP1 and under FSDP2.
void check_quantized_units(const TrainPlan& plan, const QuantizationPlan& quantization, Problems& problems);
void check_quantized_rows(const TrainPlan& plan, const QuantizationPlan& quantization, Problems& problems);

/// Arguments of Trainer that the method was not compared with.
void check_trainer_arguments(const TrainingPlan& training, std::string_view method, Problems& problems);

void check_tensor_parallel(const TrainPlan& plan, const Stack& stack, Problems& problems);
/// Models that tensor parallelism leaves whole.
void note_uncut(const ModelSpec& model, const TrainPlan& plan, Notes& notes);

/// Parameters that no quantizer reaches: those of experts, and of linear layers of a class of the model's own.
std::int64_t unquantized_parameters(const ModelSpec& model);
/// What they take where the model is quantized.
void note_not_quantized(const ModelSpec& model, const TrainPlan& plan, const Stack& stack, std::int64_t parameters,
                        Notes& notes);

/// Threads of the loader that race with the main one.
void note_race(const ModelSpec& model, const TrainPlan& plan, const Stack& stack, Notes& notes);

void check_pipeline(const TrainPlan& plan, const Stack& stack, const PipelinePlan& pipeline, Problems& problems);

}  // namespace vramfit
