// The gated feed-forward block.
#pragma once

#include "model/context.hpp"

namespace vramfit::model {

/// down_proj(act(gate_proj(x)) * up_proj(x)).
Tensor gated_mlp(const Run& run, const DecoderLayer& layer, const Tensor& x);

}  // namespace vramfit::model
