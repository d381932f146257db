// Checkpointed layers whose inputs wait in host memory.
#pragma once

#include "engine/checkpoint.hpp"
#include "model/unsloth/unsloth.hpp"

namespace vramfit::model {

/// "unsloth", from 512 tokens of max_seq_length on: below, it is True.
bool offloads_inputs(const Run& run);

/// One layer under use_gradient_checkpointing, "unsloth" or True.
Tensor checkpoint_layer(const Run& run, const Network& network, const DecoderLayer& layer, const engine::Unit& unit,
                        const Tensor& hidden);

/// The forward pass is over: layers are counted, and the next pass may use both buffers.
void end_of_forward(const Run& run);

}  // namespace vramfit::model
