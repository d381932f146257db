// Batches without padding, all rows as one with positions of their own and their lengths, or padded ones.
#pragma once

#include "model/network/run.hpp"

namespace vramfit::model {

/// One micro-batch on the device.
Batch fetch_packed(const Run& run);

/// num_items_in_batch: labels that are predicted, of all micro-batches.
Tensor count_packed(const Run& run, const std::vector<Batch>& batches);

}  // namespace vramfit::model
