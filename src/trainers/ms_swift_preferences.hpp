// `swift rlhf`: ms-swift's training with preferences.
#pragma once

#include "trainers/reader.hpp"

namespace vramfit::trainers {

/// Whether the file is one of `swift rlhf`, by its command or by its key rlhf_type.
bool is_swift_rlhf(Reader& reader);

/// What its trainer is told, of rlhf_type dpo, kto, orpo, cpo and simpo; others are refused by name.
void read_swift_preferences(Reader& reader, Draft& draft);

}  // namespace vramfit::trainers
