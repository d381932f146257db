// An embedding and a head that are trained whole beside adapters: modules_to_save.
#pragma once

#include "model/unsloth/unsloth.hpp"

namespace vramfit::model {

/// Another tensor in its place, on the host.
void move_to_host(Tensor& weight);

/// Before get_peft_model makes adapters: with Unsloth's own checkpointing the matrices that will be copied wait on
/// disk.
void offload_trained_ends(const Run& run, Network& network);

/// Behind it: the copies that are trained go to the device, those of float16 as float32.
void place_trained_ends(const Run& run, Network& network);

/// Trainer moves the network to the device, and with it the matrices that are trained no longer.
void return_embedding(const Run& run, Network& network);
void return_head(const Run& run, Network& network);

}  // namespace vramfit::model
