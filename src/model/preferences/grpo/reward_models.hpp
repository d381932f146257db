// Reward models of GRPO and RLOO: networks that classify sequences, run on what was generated.
#pragma once

#include "model/network/run.hpp"

namespace vramfit::model {

/// What one of them is given for so many completions, and its forward. `inputs` is what the trainer holds of the one
/// before it, and then of this one.
void give_rewards(const Run& run, const Size& rows, std::size_t which, Batch& inputs);

/// The rows that it is given: prompt and completion without the end, padded on the right.
struct RewardRows {
    Size length;           ///< of the longest
    bool pads = false;     ///< one is shorter
    std::int64_t shorter;  ///< tokens that they lack, all together
};
RewardRows reward_rows(const Run& run, const SecondNetwork& model);

}  // namespace vramfit::model
