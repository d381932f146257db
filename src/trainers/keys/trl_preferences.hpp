// The keys of trl's configs of preference training: TRL 1.16.0 trl/trainer/{dpo,kto,reward}_config.py,
// trl/experimental/{orpo,cpo}/*_config.py, and what older releases had besides.
#pragma once

#include "trainers/reader.hpp"

namespace vramfit::trainers {

inline constexpr KeyRow kDpoKeys[] = {
    {"max_length", KeyUse::used, "batch.sequence_length", "128|256"},
    {"loss_type", KeyUse::used, "training.loss_type", "sigmoid|sft"},
    {"precompute_ref_log_probs", KeyUse::used, "training.precompute_ref_log_probs", "true|false"},
    {"precompute_ref_batch_size", KeyUse::used, "training.precompute_ref_batch_size", "1|4"},
    {"disable_dropout", KeyUse::used, "training.disable_dropout", "true|false"},
    {"router_aux_loss_coef", KeyUse::used, "training.router_aux_loss_coef", "0|0.001"},
    {"pad_to_multiple_of", KeyUse::unsupported, "padding to a multiple is not predicted", "auto|none|null|1"},
    {"f_divergence_type", KeyUse::unsupported, "another divergence is not predicted", "reverse_kl"},
    {"ld_alpha", KeyUse::unsupported, "length desensitization is not predicted"},
    {"use_weighting", KeyUse::unsupported, "weighted losses are not predicted"},
    {"sync_ref_model", KeyUse::used, "training.sync_ref_model", ""},
    {"activation_offloading", KeyUse::unsupported, "activations in host memory are not predicted"},
    {"fsdp", KeyUse::unsupported, "FSDP in preference training is not predicted"},
    {"fsdp_config", KeyUse::harmless},
    {"fsdp_config.*", KeyUse::harmless},
    {"ref_model_name_or_path", KeyUse::unsupported, "a reference from another checkpoint is not predicted"},
};

/// Of the other trainers.
inline constexpr KeyRow kOtherPreferenceKeys[] = {
    {"center_rewards_coefficient", KeyUse::used, "training.center_rewards_coefficient", ""},
    {"cpo_alpha", KeyUse::used, "training.cpo_alpha", ""},
    {"alpha", KeyUse::unsupported, "AlphaPO is not predicted", "0"},
    {"chat_template_path", KeyUse::unsupported, "a template from elsewhere may bring tokens and resize the embedding"},
    {"generate_during_eval", KeyUse::unsupported, "generation during evaluation is not predicted", "false"},
    {"is_encoder_decoder", KeyUse::unsupported, "encoders with decoders are not predicted", "false"},
};

/// What memory does not depend on; 1.16 reads padding_free and goes on without.
inline constexpr std::string_view kDpoHarmless[] = {"beta",
                                                    "label_smoothing",
                                                    "loss_weights",
                                                    "discopop_tau",
                                                    "ref_model_mixup_alpha",
                                                    "ref_model_sync_steps",
                                                    "f_alpha_divergence_coef",
                                                    "padding_free",
                                                    "pad_token",
                                                    "dataset_text_field",
                                                    "desirable_weight",
                                                    "undesirable_weight",
                                                    "simpo_gamma",
                                                    "prompt_sample_size",
                                                    "min_density_ratio",
                                                    "max_density_ratio",
                                                    "eos_token"};

/// What ORPOConfig and CPOConfig of 1.16.0 have, and the others have not.
inline constexpr std::string_view kOnlyOfContrast[] = {"max_completion_length", "padding_value", "generate_during_eval",
                                                       "is_encoder_decoder"};

/// The same of BCOConfig of 1.9.0.
inline constexpr std::string_view kAlsoOfBco[] = {"max_completion_length", "generate_during_eval",
                                                  "is_encoder_decoder"};

/// Arguments that went with releases: trl 0.24.0 and 0.29.0 dpo_config.py have them, 1.16.0 has not.
inline constexpr std::string_view kGoneFromDpo[] = {"max_prompt_length",
                                                    "max_completion_length",
                                                    "max_target_length",
                                                    "rpo_alpha",
                                                    "label_pad_token_id",
                                                    "padding_value",
                                                    "generate_during_eval",
                                                    "is_encoder_decoder",
                                                    "model_adapter_name",
                                                    "ref_adapter_name",
                                                    "ref_model_init_kwargs",
                                                    "base_model_attribute_name",
                                                    "force_use_ref_model",
                                                    "reference_free",
                                                    "tools",
                                                    "use_liger_loss",
                                                    "use_logits_to_keep",
                                                    "use_num_logits_to_keep"};

}  // namespace vramfit::trainers
