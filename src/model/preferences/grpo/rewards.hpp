// Rewards of completions, and what the loss makes of them: GRPO's advantages, with their metrics.
#pragma once

#include "model/network/run.hpp"

namespace vramfit::model {

/// torch.nanmean(t, dim) and trl's nanstd(t, dim) for a tensor without gradient; no dimension: of everything.
Tensor nanmean_over(const Tensor& t, std::uint32_t dims, bool keepdim);
Tensor nanstd_over(const Tensor& t, std::uint32_t dims);

/// What _generate_and_score_completions holds of rewards until it returns.
struct Rewards {
    Tensor rewards_per_func, unscorable_mask, rewards, std_rewards, grouped, is_std_zero, all_process_advantages;
    Tensor advantages;  ///< [G]
};

/// _calculate_rewards of one function on the host: [G, 1].
Tensor calculate_rewards(const Run& run, const Size& rows);

/// The rest of the function, from the rewards on.
Rewards advantages_of(const Run& run, Tensor rewards_per_func);

}  // namespace vramfit::model
