// The state of torch.optim.Adam and AdamW.
#pragma once

#include <vector>

#include "model/step/optimizer.hpp"

namespace vramfit::optimizers {

/// Adam._init_group: makes the missing states of a group, in a fused optimizer with the step on the card. Returns
/// exp_avg_sq of all parameters with a gradient.
std::vector<model::Tensor> adam_second_moments(engine::Session& session, model::Optimizer& optimizer, std::size_t group,
                                               bool fused);

}  // namespace vramfit::optimizers
