// The attention masks of one forward pass.
#pragma once

#include "model/context.hpp"

namespace vramfit::model {

/// create_causal_mask and its relatives, by the version's rules: what they build for this batch.
Masks make_masks(const Run& run, const Network& network, const Tensor& embedded, const Batch& batch,
                 const Tensor& position_ids);

}  // namespace vramfit::model
