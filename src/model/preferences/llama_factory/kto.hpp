// The loss of LLaMA-Factory's stage kto.
#pragma once

#include "model/preferences/reference.hpp"

namespace vramfit::model {

/// CustomKTOTrainer's loss with its metrics.
Tensor factory_kto_loss(const Run& run, Network& network, const Reference& reference, const Batch& batch,
                        const Place& place);

}  // namespace vramfit::model
