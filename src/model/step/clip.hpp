// torch.nn.utils.clip_grad_norm_.
#pragma once

#include <vector>

#include "engine/session.hpp"
#include "model/network/network.hpp"

namespace vramfit::model {

/// Clips the gradients of the parameters; returns the total norm. Undefined without gradients. `sharded`: they are
/// DTensors, cut over the ranks.
Tensor clip_grad_norm(engine::Session& session, const std::vector<NamedParameter>& parameters, bool sharded = false);

}  // namespace vramfit::model
