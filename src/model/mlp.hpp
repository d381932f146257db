// The feed-forward blocks.
#pragma once

#include "model/context.hpp"

namespace vramfit::model {

/// down_proj(act(gate_proj(x)) * up_proj(x)).
Tensor gated_mlp(const Run& run, const DecoderLayer& layer, const Tensor& x);

/// The same with gate_up_proj for both (phi3).
Tensor fused_gated_mlp(const Run& run, const DecoderLayer& layer, const Tensor& x);

/// down(act(up(x))) without a gate, and the same with dropout behind it.
Tensor plain_mlp(const Run& run, const DecoderLayer& layer, const Tensor& x);
Tensor dropped_mlp(const Run& run, const DecoderLayer& layer, const Tensor& x);

}  // namespace vramfit::model
