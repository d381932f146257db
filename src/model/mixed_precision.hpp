// What accelerate puts around the model's forward.
#pragma once

#include "model/causal_lm.hpp"

namespace vramfit::model {

/// accelerate.prepare_model: autocast around forward, 16-bit outputs turned to float32. Without mixed precision
/// the model as it is.
Output prepared_forward(const Run& run, const Network& network, const Batch& batch, const Tensor& items,
                        const Place& place);

}  // namespace vramfit::model
