// The loss that balances the experts of a mixture.
#pragma once

#include <vector>

#include "model/network/run.hpp"

namespace vramfit::model {

/// Whether a forward pass asks the routers for their logits and adds that loss: the model's own `output_router_logits`,
/// or what trl's SFTTrainer makes of it.
bool balances_experts(const Run& run);

/// transformers 5.17 models/mixtral/modeling_mixtral.py load_balancing_loss_func, of one layer at least;
/// `attention_mask` may be undefined. The result has no dimensions, float32.
Tensor balancing_loss(const Run& run, const RouterOutputs& routers, const Tensor& attention_mask);

}  // namespace vramfit::model
