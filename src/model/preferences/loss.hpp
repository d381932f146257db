// The loss of preference training by its trainer.
#pragma once

#include "model/causal_lm/forward_wrapper.hpp"
#include "model/preferences/reference.hpp"

namespace vramfit::model {

/// compute_loss of the loop's trainer; of DPO the processes may share the network.
Tensor preference_loss(const Run& run, Network& network, const Reference& reference, const Batch& batch,
                       const Place& place, const ForwardWrapper& wrapper);

}  // namespace vramfit::model
