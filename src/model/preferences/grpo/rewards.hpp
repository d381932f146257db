// Rewards of completions with their metrics, as GRPO and RLOO have them.
#pragma once

#include "model/network/run.hpp"

namespace vramfit::model {

/// torch.nanmean(t, dim) and trl's nanstd(t, dim) for a tensor without gradient; no dimension: of everything.
Tensor nanmean_over(const Tensor& t, std::uint32_t dims, bool keepdim);
Tensor nanstd_over(const Tensor& t, std::uint32_t dims);

/// torch.isclose(t, zeros).
Tensor is_close(const Tensor& t, const Tensor& zeros);
/// torch.isclose(std_rewards, torch.zeros_like(std_rewards)).
Tensor is_close_to_zero(const Tensor& t);

/// What _generate_and_score_completions holds of rewards until it returns.
struct Rewards {
    Tensor rewards_per_func, unscorable_mask, rewards, std_rewards, grouped, is_std_zero, all_process_advantages;
    Tensor advantages;  ///< [G]
    /// RLOO: as it names them.
    Tensor per_token_kl, kl, kl_stats, grouped_rewards, scorable_counts, grouped_sum, baselines;
};

/// _calculate_rewards of reward models and functions on the host: [G, how many there are].
Tensor calculate_rewards(const Run& run, const Size& rows);

/// _calculate_rewards_from_functions of online DPO: [G].
Tensor summed_rewards(const Run& run, const Size& rows);

/// The rewards of all functions, added up.
Rewards rewards_of(const Run& run, Tensor rewards_per_func);

/// advantages[process_slice], behind a copy of all for the logs.
void keep_own_advantages(const Run& run, Rewards& r);

/// Means and deviations that go to the logs.
void log_rewards(const Run& run, Rewards& r);

}  // namespace vramfit::model
