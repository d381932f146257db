// What is done to a loaded network before it is trained: casts, checkpointing, hooks.
#pragma once

#include <optional>

#include "model/network/run.hpp"

namespace vramfit::model {

/// PreTrainedModel.gradient_checkpointing_enable; `reentrant` is use_reentrant where arguments give it.
void enable_checkpointing(const Run& run, Network& network, std::optional<bool> reentrant);

/// PreTrainedModel.enable_input_require_grads.
void require_input_grads(Network& network);

/// peft.prepare_model_for_kbit_training.
void prepare_for_kbit_training(const Run& run, Network& network, const PreparePlan& plan);

/// The same of trl's experiments (1.9 and 1.16 experimental/utils.py): nothing is cast.
void prepare_for_kbit_training_by_trl(const Run& run, Network& network, const PreparePlan& plan);

/// axolotl's loading: norms, routers and perhaps embedding and head in float32, prepare_for_kbit_training if the plan
/// has it, and all but the routers in the dtype of loading again.
void prepare_upcast(const Run& run, Network& network, UpcastParts parts);

/// trl's peft_module_casting_to_bf16.
void cast_to_bf16_by_trl(const Run& run, Network& network);
/// The same of trl's experiments.
void cast_float32_by_trl(const Run& run, Network& network);

/// trl 1.x SFTTrainer.__init__ with a model that has adapters: hooks for checkpointing, the cast of adapters on a
/// quantized model.
void prepare_adapted_by_trl(const Run& run, Network& network);

/// The same in trl 0.8.6, which casts layers with adapters as a whole.
void cast_to_bf16_by_trl_0_8(const Run& run, Network& network);

/// What the job asks for after get_peft_model: trl's cast, and model.to(dtype).
void cast_adapted(const Run& run, Network& network);

}  // namespace vramfit::model
