// The names of positional arguments, from the libraries' own signatures.
#pragma once

#include <span>
#include <string_view>

namespace vramfit::trainers::python {

/// transformers 5.17.0 (training_args.py, trainer.py, auto_factory.py), trl 1.16.0 (sft_config.py, sft_trainer.py),
/// peft 0.21.2 (config.py, mapping_func.py, other.py), unsloth 2026.10.7 (loader.py, llama.py). Earlier releases differ
/// behind the first two: what would be read wrongly there has no name here and is refused.
inline constexpr std::string_view kConfigNames[] = {"output_dir"};
inline constexpr std::string_view kTrainerNames[] = {"model", "args", "data_collator", "train_dataset", "eval_dataset"};
/// dpo_trainer.py, kto_trainer.py.
inline constexpr std::string_view kReferenceTrainerNames[] = {"model",         "ref_model",     "args",
                                                              "data_collator", "train_dataset", "eval_dataset"};
/// bco_trainer.py of trl 1.9.0.
inline constexpr std::string_view kBcoTrainerNames[] = {"model", "ref_model", "args", "train_dataset", "eval_dataset"};
/// grpo_trainer.py, rloo_trainer.py.
inline constexpr std::string_view kGroupTrainerNames[] = {"model", "reward_funcs", "args", "train_dataset",
                                                          "eval_dataset"};
/// gkd_trainer.py.
inline constexpr std::string_view kDistillationTrainerNames[] = {"model",         "teacher_model", "args",
                                                                 "data_collator", "train_dataset", "eval_dataset"};
/// online_dpo_trainer.py.
inline constexpr std::string_view kOnlineTrainerNames[] = {"model",         "ref_model",     "reward_funcs", "args",
                                                           "data_collator", "train_dataset", "eval_dataset"};
inline constexpr std::string_view kFromPretrainedNames[] = {"pretrained_model_name_or_path"};
inline constexpr std::string_view kFastNames[] = {"model_name",   "max_seq_length", "dtype",          "load_in_4bit",
                                                  "load_in_8bit", "load_in_16bit",  "full_finetuning"};
inline constexpr std::string_view kFastAdapterNames[] = {"model",        "r",   "target_modules", "lora_alpha",
                                                         "lora_dropout", "bias"};
inline constexpr std::string_view kAdapterNames[] = {"model", "peft_config", "adapter_name"};
inline constexpr std::string_view kLoraNames[] = {"task_type"};
inline constexpr std::string_view kBitsAndBytesNames[] = {"load_in_8bit", "load_in_4bit"};
inline constexpr std::string_view kPrepareNames[] = {"model", "use_gradient_checkpointing",
                                                     "gradient_checkpointing_kwargs"};
inline constexpr std::string_view kEnableNames[] = {"gradient_checkpointing_kwargs"};
inline constexpr std::string_view kResizeNames[] = {"new_num_tokens"};

/// Methods of a network that change nothing that memory depends on.
inline constexpr std::string_view kHarmlessMethods[] = {"print_trainable_parameters",
                                                        "eval",
                                                        "train",
                                                        "generate",
                                                        "save_pretrained",
                                                        "push_to_hub",
                                                        "num_parameters",
                                                        "parameters",
                                                        "named_parameters",
                                                        "named_modules",
                                                        "modules",
                                                        "children",
                                                        "get_memory_footprint",
                                                        "get_nb_trainable_parameters",
                                                        "get_input_embeddings",
                                                        "get_output_embeddings",
                                                        "config.to_dict",
                                                        "config.to_json_string",
                                                        "state_dict"};

}  // namespace vramfit::trainers::python
