// The gated feed-forward block.
#pragma once

#include "model/context.hpp"

namespace vramfit::model {

/// The activation function of the network.
Tensor activate(const ModelSpec& spec, const Tensor& t);

/// The layer's MLP, or the experts that stand in its place.
Tensor mlp(const Run& run, const DecoderLayer& layer, const Tensor& x);

/// down_proj(act(gate_proj(x)) * up_proj(x)).
Tensor gated_mlp(const Run& run, const DecoderLayer& layer, const Tensor& x);

}  // namespace vramfit::model
