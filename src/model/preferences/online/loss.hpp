// The loss of online DPO.
#pragma once

#include <functional>

#include "model/preferences/reference.hpp"

namespace vramfit::model {

/// OnlineDPOTrainer.training_step but for what is divided behind it: `backward` is called with the loss while all that
/// the function has named is there.
void online_dpo_step(const Run& run, Network& network, const Reference& reference, const Place& place,
                     const std::function<void(const Tensor&)>& backward);

}  // namespace vramfit::model
