// The loss of ms-swift's KTOTrainer.
#pragma once

#include "model/preferences/reference.hpp"

namespace vramfit::model {

/// KTOTrainer's loss with its metrics.
Tensor swift_kto_loss(const Run& run, Network& network, const Reference& reference, const Batch& batch,
                      const Place& place);

}  // namespace vramfit::model
