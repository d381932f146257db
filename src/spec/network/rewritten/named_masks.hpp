// Masks that a network makes, as calls of the function that makes them.
#pragma once

#include "spec/network/document.hpp"

namespace vramfit::network {

/// Whether the program makes masks of its `attention_mask`.
bool makes_masks(const Program& program);

/// The program with a call of kCausalMask for each mask that it makes, or finds that it need not make, for the modules
/// that it runs; what the function calls is gone. False: it makes something else of its `attention_mask`, or masks in
/// another way.
bool name_masks(Program& program, const Document& document);

}  // namespace vramfit::network
