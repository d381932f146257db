// What Unsloth does before training: its import, its loader, what it looks for while the trainer is built.
#pragma once

#include "model/unsloth/unsloth.hpp"

namespace vramfit::model {

/// The module's import takes a segment of the allocator.
void import_unsloth(const Run& run);

/// Before the network is loaded.
void begin_load(const Run& run);

/// Behind the loader: the rotary module's frequencies go to host memory.
void end_load(const Run& run, Network& network);

/// Behind get_peft_model.
void end_adapters(const Run& run, Network& network);

/// While the trainer is built. The group of several processes keeps the tensor of a barrier.
void prepare_unsloth_trainer(const Run& run, Network& network);

/// Behind the last step: buffers of offloaded inputs begin anew.
void end_training(const Run& run);

}  // namespace vramfit::model
