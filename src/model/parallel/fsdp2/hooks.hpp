// FSDPState's hooks around a module's forward.
#pragma once

#include "engine/node.hpp"
#include "model/parallel/fsdp2/group.hpp"

namespace vramfit::model {

/// _pre_forward: gathers. Returns what the module is called with: where it needs a gradient, the gradient's arrival
/// ends the group's backward pass. In a recomputation that the group's own backward pass asked for nothing happens.
engine::Tensor enter_group(Fsdp2Group& group, const engine::Tensor& input);

/// _post_forward: from now on the gradient of `output` gathers again. The node that it waits at; null: there is none.
engine::Ref<engine::Node> leave_group(Fsdp2Group& group, const engine::Tensor& output);

/// _register_pre_backward_hook alone.
engine::Ref<engine::Node> expect_backward(Fsdp2Group& group, const engine::Tensor& output);

}  // namespace vramfit::model
