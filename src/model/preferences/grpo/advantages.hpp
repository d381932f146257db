// Advantages of completions over those of the same prompt: GRPO's and RLOO's.
#pragma once

#include "model/preferences/grpo/rewards.hpp"

namespace vramfit::model {

/// t.view(-1, num_generations): [G] to [P, K].
Tensor in_groups(const Run& run, const Tensor& t);
/// t.repeat_interleave(num_generations, dim=0): [P] to [G].
Tensor repeated_in_group(const Run& run, const Tensor& t);

/// GRPO: from the rewards to the end of _generate_and_score_completions.
Rewards group_advantages(const Run& run, Tensor rewards_per_func);

/// Completions as RLOO's policy and its reference score them, [G, N] each.
struct ScoredCompletions {
    Tensor policy, reference, mask;
};

/// RLOO: the same; the divergence from a reference is taken from the rewards.
Rewards leave_one_out_advantages(const Run& run, Tensor rewards_per_func, const ScoredCompletions& scored);

}  // namespace vramfit::model
