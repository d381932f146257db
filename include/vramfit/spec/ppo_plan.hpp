// PPO: what trl's PPOConfig says about rollouts and the loss.
#pragma once

#include <cstdint>

namespace vramfit {

/// trl's PPOConfig as far as memory depends on it; its own values where nothing is said (ppo_config.py of 1.9.0).
struct PpoPlan {
    std::int64_t num_ppo_epochs = 4;
    std::int64_t num_mini_batches = 1;
    std::int64_t local_rollout_forward_batch_size = 64;
    std::int64_t response_length = 53;
    bool stops = false;               ///< stop_token "eos": rows are cut behind their end
    bool has_eos_penalty = false;     ///< missing_eos_penalty
    bool whitens_rewards = false;     ///< whiten_rewards
    bool is_k3 = false;               ///< kl_estimator "k3"
    bool ends = true;                 ///< each row has an end
    bool reference_is_given = false;  ///< the script loads a reference; false: the trainer copies the policy

    friend bool operator==(const PpoPlan&, const PpoPlan&) = default;
};

}  // namespace vramfit
