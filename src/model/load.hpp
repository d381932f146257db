// from_pretrained: the network comes onto the device.
#pragma once

#include "model/context.hpp"

namespace vramfit::model {

/// Loads every tensor of the checkpoint in the order of the loader, quantizing on the way, as the stack's transformers
/// does.
Network load(const Run& run);

}  // namespace vramfit::model
