// The keys of `trl sft` beside TrainingArguments and the model's: TRL 1.16 trl/trainer/sft_config.py, older files.
#pragma once

#include "trainers/reader.hpp"

namespace vramfit::trainers {

/// Keys that several trainers of preferences and rewards have.
inline constexpr const char* kWhichTrainer =
    "SFTTrainer has no such argument; a line with the command says which trainer reads it, as in "
    "echo 'trl dpo --config FILE' | vramfit check -";

inline constexpr KeyRow kTrlSftKeys[] = {
    {"max_length", KeyUse::used, "batch.sequence_length", "128|256"},
    {"router_aux_loss_coef", KeyUse::used, "training.router_aux_loss_coef", "0|0.001"},
    {"max_seq_length", KeyUse::used, "batch.sequence_length", "128|256"},
    {"block_size", KeyUse::used, "batch.sequence_length", "128|256"},
    {"packing", KeyUse::used, "batch", "true|false"},
    {"packing_strategy", KeyUse::used, "batch", "wrapped|bfd"},
    {"eval_packing", KeyUse::used, "evaluation"},
    {"pad_to_multiple_of", KeyUse::used, "batch", "3|7"},
    {"loss_type", KeyUse::used, "loop.loss", "chunked_nll|dft"},
    {"padding_free", KeyUse::unsupported, "flattened batches are not predicted"},
    {"activation_offloading", KeyUse::unsupported, "activations in host memory are not predicted"},
    {"max_prompt_length", KeyUse::unsupported, kWhichTrainer},
    {"max_target_length", KeyUse::unsupported, kWhichTrainer},
    {"beta", KeyUse::unsupported, kWhichTrainer},
    {"precompute_ref_log_probs", KeyUse::unsupported, kWhichTrainer},
    {"ref_model_name_or_path", KeyUse::unsupported, kWhichTrainer},
    {"reward_funcs", KeyUse::unsupported, "training with rewards is not predicted yet"},
    {"num_generations", KeyUse::unsupported, "training with rewards is not predicted yet"},
    {"max_completion_length", KeyUse::unsupported, "training with rewards is not predicted yet"},
    {"use_vllm", KeyUse::unsupported, "vLLM on the same GPU is not predicted"},
    {"teacher_model_name_or_path", KeyUse::unsupported, "distillation is not predicted"},
};

}  // namespace vramfit::trainers
