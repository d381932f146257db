// Projections with adapters as one function each, whose gradients are written over what is no longer needed.
#pragma once

#include "model/unsloth/unsloth.hpp"

namespace vramfit::model {

/// Whether Unsloth has a fused function for these layers: adapters on each of them, no bias.
bool is_fused(std::initializer_list<const Linear*> layers);

/// The projections of the attention. hidden -- [1, T, H]; three of [1, T, out].
struct FusedProjections {
    Tensor q, k, v;
};
FusedProjections fused_qkv(Unsloth& unsloth, const DecoderLayer& layer, const Tensor& hidden);

/// One projection.
Tensor fused_linear(Unsloth& unsloth, const Linear& layer, const Tensor& hidden);

/// down(act(gate(x)) * up(x)).
Tensor fused_mlp(Unsloth& unsloth, const DecoderLayer& layer, const Tensor& hidden);

}  // namespace vramfit::model
