// The feed-forward blocks.
#pragma once

#include "model/layers/inputs.hpp"

namespace vramfit::model {

/// The activation function of the network.
Tensor activate(const ModelSpec& spec, const Tensor& t);

/// down_proj(act(gate_proj(x)) * up_proj(x)), and the same with dropout behind it.
Tensor gated_mlp(const Run& run, const DecoderLayer& layer, const Tensor& x);
Tensor dropped_gated_mlp(const Run& run, const DecoderLayer& layer, const Tensor& x);

/// The same with gate_up_proj for both (phi3).
Tensor fused_gated_mlp(const Run& run, const DecoderLayer& layer, const Tensor& x);

/// down(act(up(x))) without a gate, and the same with dropout behind it.
Tensor plain_mlp(const Run& run, const DecoderLayer& layer, const Tensor& x);
Tensor dropped_mlp(const Run& run, const DecoderLayer& layer, const Tensor& x);

}  // namespace vramfit::model
