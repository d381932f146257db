// What the steps of ms-swift's GRPO are trained on.
#pragma once

#include <vector>

#include "model/preferences/ms_swift/grpo_scores.hpp"
#include "model/preferences/reference.hpp"

namespace vramfit::model {

/// _buffered_inputs: a batch for each step of a generation.
struct SwiftRollout {
    std::vector<SwiftGroup> groups;
    Tensor rewards_per_func;  ///< the trainer's own, until the next rewards are there
    Tensor reward_weights;    ///< from the trainer's constructor on
};

/// GRPOTrainer._prepare_rewards: one for each function; of another trainer undefined.
Tensor weights_of_rewards(const Run& run);

/// RolloutTrainerMixin._generate_and_score_completions: puts the rows that it has generated in place of those before.
void swift_roll_out(const Run& run, Network& network, const Reference& reference, const Place& place,
                    SwiftRollout& rollout);

}  // namespace vramfit::model
