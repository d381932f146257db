// What tensor parallelism makes of the network before it is loaded.
#pragma once

#include "model/network/run.hpp"

namespace vramfit::model {

/// apply_tensor_parallelism, before anything is loaded: the sizes of modules become those of one process. Throws Error
/// (invalid) with the library's reason where they cannot be.
void cut_network(const Run& run, Network& network);

}  // namespace vramfit::model
