// AdaLoRA's own part of the loss.
#pragma once

#include "model/network/network.hpp"

namespace vramfit::model {

/// AdaLoraModel.forward: adds to the loss what keeps the adapters' matrices orthogonal, in place.
void add_orthogonality(const LoraPlan& plan, const Network& network, const Tensor& loss);

}  // namespace vramfit::model
