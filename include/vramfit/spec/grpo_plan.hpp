// GRPO: what trl's GRPOConfig says about generation, rewards and the loss.
#pragma once

#include <cstdint>
#include <optional>

namespace vramfit {

/// trl's GRPOConfig.loss_type.
enum class GroupLoss : std::uint8_t { dapo, grpo, bnpo, dr_grpo };

/// trl's GRPOConfig.scale_rewards: what divides advantages; true is group, false none.
enum class RewardScale : std::uint8_t { group, batch, none };

/// trl's GRPOConfig as far as memory depends on it. Rows are completions; PairLengths has their prompts.
struct GrpoPlan {
    std::int64_t num_generations = 8;
    std::optional<std::int64_t> steps_per_generation;  ///< absent: the steps of gradient accumulation
    std::int64_t num_iterations = 1;
    std::optional<std::int64_t> max_completion_length = 512;
    bool has_reference = false;  ///< beta is not 0
    GroupLoss loss = GroupLoss::dapo;
    RewardScale scale = RewardScale::group;
    bool has_temperature = false;  ///< other than 1: the logits are divided by it

    /// Batches whose completions are generated at once.
    std::int64_t generation_steps(std::int64_t gradient_accumulation_steps) const {
        return steps_per_generation.value_or(gradient_accumulation_steps);
    }

    friend bool operator==(const GrpoPlan&, const GrpoPlan&) = default;
};

}  // namespace vramfit
