// The versions of the libraries, and what follows from them: one named question for each behaviour that changed.
// Each answer stands in src/spec/stack/<library>.cpp with its source; model code never compares versions.
#pragma once

#include <string>

#include "vramfit/spec/version.hpp"

namespace vramfit {

struct Stack {
    std::string name;
    Version torch;
    Version transformers;
    Version peft;
    Version bitsandbytes;
    Version accelerate;
    Version trl;        ///< zeros: none
    Version deepspeed;  ///< zeros: none (no named stack holds it)
    Version flash_attn;

    friend bool operator==(const Stack&, const Stack&) = default;

    // torch
    bool mean_saves_its_input() const;      ///< mean(dim) keeps its input for backward
    bool cublaslt_workspace_stays() const;  ///< cublasLt's scratch is kept for each thread

    // transformers
    bool checkpointing_is_reentrant() const;  ///< without gradient_checkpointing_kwargs
    bool config_head_dim_counts() const;      ///< llama, mistral and qwen2 use the config's head_dim
    bool knows_newer_rotary() const;          ///< rotary types beyond linear and dynamic

    // peft
    bool adapters_of_float16_are_float32() const;  ///< adapters are cast up where weights are not quantized

    // trl
    bool sft_prepares_model() const;  ///< SFTTrainer calls prepare_model_for_kbit_training and get_peft_model itself
};

}  // namespace vramfit
