// What online DPO trains on: two sampled completions of each prompt.
#pragma once

#include "model/causal_lm/causal_lm.hpp"

namespace vramfit::model {

/// What _generate returns: the prompts twice, one after the other.
struct OnlineRows {
    Tensor prompt_ids, prompt_mask;          ///< [2 B, P] int64
    Tensor completion_ids, completion_mask;  ///< [2 B, N] int64
};

/// OnlineDPOTrainer._generate, in the window of generation.
OnlineRows generate_pairs(const Run& run, Network& network, const Place& place);

}  // namespace vramfit::model
