// GRPO as files of ms-swift ask for it.
#pragma once

#include "trainers/reader.hpp"

namespace vramfit::trainers {

/// rlhf_type grpo: generation by transformers and functions that give rewards.
void read_swift_groups(Reader& reader, Draft& draft);

}  // namespace vramfit::trainers
