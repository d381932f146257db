// The keys of GRPOConfig and RLOOConfig: TRL 1.16.0 trl/trainer/grpo_config.py, rloo_config.py, trl/scripts/grpo.py,
// rloo.py, and what older releases had.
#pragma once

#include "trainers/common.hpp"
#include "trainers/reader.hpp"

namespace vramfit::trainers {

/// Of both.
inline constexpr KeyRow kGroupKeys[] = {
    {"num_generations", KeyUse::used, "training.num_generations", "2|4"},
    {"max_completion_length", KeyUse::used, "batch.completion_length", "64|128"},
    {"max_prompt_length", KeyUse::used, "batch.prompt_length", ""},
    {"generation_batch_size", KeyUse::used, "training.steps_per_generation", "8|16"},
    {"steps_per_generation", KeyUse::used, "training.steps_per_generation", "1|2"},
    {"num_iterations", KeyUse::used, "training.num_iterations", "1|2"},
    {"beta", KeyUse::used, "training.beta", "0|0.1"},
    {"temperature", KeyUse::used, "training.temperature", "1|0.7"},
    {"repetition_penalty", KeyUse::used, "training.repetition_penalty", "1.0|1.1"},
    {"mask_truncated_completions", KeyUse::used, "training.mask_truncated_completions", "true|false"},
    {"disable_dropout", KeyUse::used, "training.disable_dropout", "true|false"},
    {"use_vllm", KeyUse::used, "training.use_vllm", "true|false"},
    {"vllm_mode", KeyUse::used, "training.vllm_mode", ""},
    {"vllm_gpu_memory_utilization", KeyUse::used, "training.vllm_gpu_memory_utilization", ""},
    {"vllm_max_model_length", KeyUse::used, "training.vllm_max_model_length", ""},
    {"vllm_enable_sleep_mode", KeyUse::used, "training.vllm_enable_sleep_mode", ""},
    {"vllm_tensor_parallel_size", KeyUse::used, "training.vllm_tensor_parallel_size", ""},
    {"use_transformers_continuous_batching", KeyUse::unsupported, "continuous batching is not predicted"},
    {"ds3_gather_for_generation", KeyUse::used, "training.ds3_gather_for_generation", "true|false"},
    {"use_transformers_paged", KeyUse::unsupported, "continuous batching is not predicted"},
    {"reward_model_name_or_path", KeyUse::used, "loop.reward_models", ""},
    {"reward_funcs", KeyUse::used, "loop.reward_functions", ""},
    {"sync_ref_model", KeyUse::used, "training.sync_ref_model", ""},
    {"cache_implementation", KeyUse::unsupported, "another cache of keys and values is not predicted"},
    {"generation_kwargs", KeyUse::unsupported, "further arguments of generation are not predicted"},
    {"generation_kwargs.*", KeyUse::unsupported, "further arguments of generation are not predicted"},
    {"min_p", KeyUse::used, "training.min_p", ""},
    {"top_p", KeyUse::used, "training.top_p", "1.0|0.9"},
    {"top_k", KeyUse::used, "training.top_k", "0|20"},
    {"pad_to_multiple_of", KeyUse::unsupported, "padding to a multiple is not predicted", "auto|none|null|1"},
    {"router_aux_loss_coef", KeyUse::unsupported, "a loss that balances experts is not predicted", "0|0.0"},
    {"activation_offloading", KeyUse::unsupported, "activations in host memory are not predicted"},
    {"fsdp", KeyUse::unsupported, "FSDP in training with rewards is not predicted"},
    {"fsdp_config", KeyUse::harmless},
    {"fsdp_config.*", KeyUse::harmless},
};

/// Of GRPO alone.
inline constexpr KeyRow kGrpoKeys[] = {
    {"loss_type", KeyUse::used, "training.loss_type", "dapo|cispo"},
    {"cast_lm_head_to_fp32", KeyUse::unsupported, "a head in float32 is not predicted"},
    {"use_adaptive_entropy", KeyUse::unsupported, "a bonus for entropy is not predicted"},
    {"entropy_coef", KeyUse::unsupported, "a bonus for entropy is not predicted", "0|0.0"},
    {"top_entropy_quantile", KeyUse::unsupported, "a mask of tokens by their entropy is not predicted", "1|1.0"},
    {"off_policy_mask_threshold", KeyUse::unsupported, "a mask of what is off policy is not predicted"},
    {"delta", KeyUse::used, "training.delta", "4.0|none"},
    {"importance_sampling_level", KeyUse::used, "training.importance_sampling_level", "token|sequence"},
    {"scale_rewards", KeyUse::used, "training.scale_rewards", "group|none"},
    {"multi_objective_aggregation", KeyUse::unsupported, "another sum of rewards is not predicted",
     "sum_then_normalize"},
    {"vllm_importance_sampling_correction", KeyUse::used, "training.vllm_importance_sampling_correction", ""},
    {"vllm_importance_sampling_mode", KeyUse::used, "training.vllm_importance_sampling_mode", ""},
    {"use_bias_correction_kl", KeyUse::used, "training.use_bias_correction_kl", "true|false"},
};

/// Of RLOO alone.
inline constexpr KeyRow kRlooKeys[] = {
    {"normalize_advantages", KeyUse::used, "training.normalize_advantages", "true|false"},
    {"reward_clip_range", KeyUse::used, "training.reward_clip_range", ""},
};

/// Of scripts with either.
inline constexpr KeyRow kGroupScriptKeys[] = {
    {"peft_config.task_type", KeyUse::unsupported, "another task needs another head", "CAUSAL_LM"},
    {"adapted", KeyUse::used, "trl.peft_config"},
    {"trainer.reward_funcs", KeyUse::used, "loop.reward_models"},
    {"trainer.reward_funcs.*", KeyUse::used, "loop.reward_models"},
    {"trainer.reward_processing_classes", KeyUse::harmless},
};

/// What memory does not depend on while transformers generates and rewards come from functions.
inline constexpr std::string_view kGroupHarmless[] = {"epsilon",
                                                      "epsilon_high",
                                                      "shuffle_dataset",
                                                      "reward_weights",
                                                      "num_generations_eval",
                                                      "log_completions",
                                                      "log_multimodal",
                                                      "log_unique_prompts",
                                                      "num_completions_to_print",
                                                      "wandb_log_unique_prompts",
                                                      "chat_template_kwargs",
                                                      "ref_model_mixup_alpha",
                                                      "ref_model_sync_steps",
                                                      "transformers_continuous_batching_config",
                                                      "vllm_guided_decoding_regex"};
/// Of these and online DPO: what vLLM alone looks at.
inline constexpr std::string_view kVllmHarmless[] = {
    "vllm_model_impl",  "vllm_structured_outputs_regex", "vllm_server_base_url", "vllm_server_host",
    "vllm_server_port", "vllm_server_timeout",           "vllm_group_port"};
inline constexpr std::string_view kGrpoHarmless[] = {"log_completions_hub_repo",
                                                     "max_tool_calling_iterations",
                                                     "sapo_temperature_neg",
                                                     "sapo_temperature_pos",
                                                     "vespo_k_pos",
                                                     "vespo_lambda_pos",
                                                     "vespo_k_neg",
                                                     "vespo_lambda_neg",
                                                     "entropy_coef_min",
                                                     "entropy_coef_max",
                                                     "entropy_coef_delta",
                                                     "entropy_target",
                                                     "vllm_importance_sampling_cap",
                                                     "vllm_importance_sampling_clip_max",
                                                     "vllm_importance_sampling_clip_min"};

inline constexpr auto kVllmHarmlessRows = harmless_rows(kVllmHarmless);
inline constexpr auto kGroupHarmlessRows = harmless_rows(kGroupHarmless);
inline constexpr auto kGrpoHarmlessRows = harmless_rows(kGrpoHarmless);

}  // namespace vramfit::trainers
