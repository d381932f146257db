// GRPO and RLOO: what trl's GRPOConfig and RLOOConfig say about generation, rewards and the loss.
#pragma once

#include <cstdint>
#include <optional>

#include "vramfit/spec/loop_kind.hpp"

namespace vramfit {

/// trl's GRPOConfig.loss_type.
enum class GroupLoss : std::uint8_t { dapo, grpo, bnpo, dr_grpo, cispo, sapo, luspo, vespo };

/// trl's GRPOConfig.scale_rewards: what divides advantages; true is group, false none.
enum class RewardScale : std::uint8_t { group, batch, none };

/// trl's GRPOConfig.importance_sampling_level: what has a ratio, each token or the whole completion (GSPO).
enum class SamplingLevel : std::uint8_t { token, sequence };

/// trl's vllm_importance_sampling_mode: what corrects the loss for what vLLM sampled with.
enum class SamplingCorrectionMode : std::uint8_t { sequence_mask, sequence_truncate, token_mask, token_truncate };

/// trl's GRPOConfig or RLOOConfig as far as memory depends on it. Rows are completions; PairLengths has their prompts.
struct GrpoPlan {
    std::int64_t num_generations = 8;
    std::optional<std::int64_t> steps_per_generation;  ///< absent: the steps of gradient accumulation
    std::int64_t num_iterations = 1;
    std::int64_t reward_functions = 1;  ///< on the host, beside reward models
    std::optional<std::int64_t> max_completion_length = 512;
    bool has_reference = false;                  ///< beta is not 0
    GroupLoss loss = GroupLoss::dapo;            ///< of GRPO
    RewardScale scale = RewardScale::group;      ///< of GRPO
    bool has_temperature = false;                ///< other than 1: the logits are divided by it
    bool penalizes_repetition = false;           ///< repetition_penalty is not 1
    std::int64_t top_k = 0;                      ///< tokens are drawn from so many of the likeliest; 0: from all
    bool has_top_p = false;                      ///< and from those that have top_p, below 1, of the probability
    bool has_min_p = false;                      ///< and from those above min_p of the likeliest one's
    bool masks_truncated = false;                ///< mask_truncated_completions
    SamplingLevel level = SamplingLevel::token;  ///< of GRPO
    std::optional<bool> corrects_divergence;     ///< of GRPO: use_bias_correction_kl; absent: as the release has it
    bool clips_both_sides = false;               ///< of GRPO: delta
    bool normalizes_advantages = false;          ///< RLOO: normalize_advantages
    bool clips_rewards = false;                  ///< RLOO: reward_clip_range

    std::optional<double> vllm_share;          ///< vLLM in the same process generates: vllm_gpu_memory_utilization
    std::optional<std::int64_t> vllm_context;  ///< vllm_max_model_length
    bool vllm_on_server = false;               ///< vLLM on a GPU of its own generates: vllm_mode server
    bool corrects_sampling = true;             ///< of GRPO with vLLM: vllm_importance_sampling_correction
    SamplingCorrectionMode correction = SamplingCorrectionMode::sequence_mask;

    bool generates_by_vllm() const { return vllm_share || vllm_on_server; }

    /// Batches whose completions are generated at once.
    std::int64_t generation_steps(std::int64_t gradient_accumulation_steps) const {
        return steps_per_generation.value_or(gradient_accumulation_steps);
    }

    friend bool operator==(const GrpoPlan&, const GrpoPlan&) = default;
};

inline constexpr std::int64_t kOnlineMaxLength = 512;  ///< OnlineDPOConfig.max_length

/// trl's own values where nothing is said: grpo_config.py, rloo_config.py, online_dpo_config.py of 1.16.0.
constexpr GrpoPlan plan_of_groups(LoopKind kind) {
    GrpoPlan out;
    if (kind == LoopKind::grpo) return out;
    if (generates_pairs(kind)) {
        out.max_completion_length = 64;  // max_new_tokens
        out.has_temperature = true;      // 0.9
    }
    out.num_generations = 2;
    out.has_reference = true;  // beta 0.05, 0.1
    return out;
}

inline constexpr std::int64_t kTopKOfTransformers = 50;  ///< GenerationConfig of 5.19, where top_k is not said

/// ms-swift's where nothing is said: arguments/rlhf_args.py, rlhf_trainers/args_mixin.py of 4.6.
constexpr GrpoPlan plan_of_swift_groups() {
    GrpoPlan out;
    out.loss = GroupLoss::grpo;
    out.has_reference = true;    // beta 0.04
    out.has_temperature = true;  // 0.9
    out.top_k = kTopKOfTransformers;
    return out;
}

/// ms-swift 4.6 prepare_generation_config hands on a top_k that is said, and no min_p.
constexpr void settle_swift_sampling(GrpoPlan& groups) {
    if (groups.top_k <= 0) groups.top_k = kTopKOfTransformers;
    groups.has_min_p = false;
}

}  // namespace vramfit
