// Attention over rows that are put together: over those of equal length at once, each for itself.
#pragma once

#include "model/unsloth/unsloth.hpp"

namespace vramfit::model {

/// A layer's attention. hidden -- [1, T, H], the norm's output.
/// `tables` -- those that the batch began with.
Tensor packed_attention(const Run& run, const DecoderLayer& layer, const Tensor& hidden, const Batch& batch,
                        const PositionTables& tables);

}  // namespace vramfit::model
