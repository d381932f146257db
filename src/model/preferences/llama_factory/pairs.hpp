// The loss of LLaMA-Factory's stage dpo.
#pragma once

#include "model/preferences/reference.hpp"

namespace vramfit::model {

/// CustomDPOTrainer's loss with its metrics: of dpo against a reference, of orpo and simpo without one.
Tensor factory_pair_loss(const Run& run, Network& network, const Reference& reference, const Batch& batch,
                         const Place& place);

}  // namespace vramfit::model
