// The network as Unsloth runs it, up to its last hidden state.
#pragma once

#include "model/causal_lm/causal_lm.hpp"
#include "model/unsloth/unsloth.hpp"

namespace vramfit::model {

/// [1, T, H], behind the last norm; the windows of the forward pass begin here.
Tensor unsloth_decoder(const Run& run, const Network& network, const Batch& batch, const Place& place);

}  // namespace vramfit::model
