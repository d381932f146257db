// The losses of trl's ORPOTrainer and CPOTrainer, which have no reference.
#pragma once

#include "model/causal_lm/causal_lm.hpp"

namespace vramfit::model {

/// compute_loss with its metrics: one forward of chosen and rejected rows, whose logits are whole.
Tensor contrast_loss(const Run& run, const Network& network, const Batch& batch, const Place& place);

/// What the trainer makes of the plan: it prepares quantized weights and casts adapters over them itself.
void prepare_contrast(TrainPlan& plan);

}  // namespace vramfit::model
