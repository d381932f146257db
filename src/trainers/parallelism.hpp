// accelerate's parallelism_config, and what axolotl makes one of: context parallelism, shards and their copies.
#pragma once

#include <span>

#include "trainers/reader.hpp"

namespace vramfit::trainers {

extern const std::span<const KeyRow> kParallelismOfAccelerate;

/// What accelerate's file says, once its FSDP and its number of processes are read.
void read_parallelism_of_accelerate(Reader& reader, Draft& draft);

/// axolotl's dp_shard_size and dp_replicate_size, once its FSDP is read.
void read_parallelism_of_axolotl(Reader& reader, Draft& draft);

}  // namespace vramfit::trainers
