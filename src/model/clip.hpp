// torch.nn.utils.clip_grad_norm_.
#pragma once

#include <vector>

#include "engine/session.hpp"
#include "model/network.hpp"

namespace vramfit::model {

/// Clips the gradients of the parameters; returns the total norm. Undefined without gradients.
Tensor clip_grad_norm(engine::Session& session, const std::vector<NamedParameter>& parameters);

}  // namespace vramfit::model
