// Batches: tensors of token ids copied from host memory.
#pragma once

#include "model/network/run.hpp"

namespace vramfit::model {

/// One micro-batch of the plan on the device. `length` 0: the plan's.
Batch fetch_batch(const Run& run, Size length = 0);

}  // namespace vramfit::model
