// GRPO in axolotl's files: `rl: grpo` with what stands under `trl` and `vllm`.
#pragma once

#include "trainers/reader.hpp"

namespace vramfit::trainers {

/// The arguments of trl's GRPOTrainer, behind all that the file says of training.
void read_axolotl_groups(Reader& reader, Draft& draft);

}  // namespace vramfit::trainers
