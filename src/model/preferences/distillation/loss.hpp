// The loss of distillation: the divergence of the student's logits from the teacher's.
#pragma once

#include "model/causal_lm/causal_lm.hpp"

namespace vramfit::model {

/// GKDTrainer.compute_loss. `items` is num_items_in_batch on the device.
Tensor distillation_loss(const Run& run, const Network& student, const Batch& batch, const Tensor& items,
                         const Place& place);

}  // namespace vramfit::model
