// The loss of preference training by its trainer.
#pragma once

#include "model/preferences/reference.hpp"

namespace vramfit::model {

/// compute_loss of the loop's trainer.
Tensor preference_loss(const Run& run, Network& network, const Reference& reference, const Batch& batch,
                       const Place& place);

}  // namespace vramfit::model
