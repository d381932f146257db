// accelerate's parallelism_config: context parallelism.
#pragma once

#include <span>

#include "trainers/reader.hpp"

namespace vramfit::trainers {

extern const std::span<const KeyRow> kParallelismOfAccelerate;

/// What accelerate's file says, once its FSDP and its number of processes are read.
void read_parallelism_of_accelerate(Reader& reader, Draft& draft);

}  // namespace vramfit::trainers
