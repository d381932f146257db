// torch.optim.AdamW, foreach implementation.
#pragma once

#include "model/optimizer.hpp"

namespace vramfit::model {

extern const OptimizerType kAdamwTorch;

}  // namespace vramfit::model
