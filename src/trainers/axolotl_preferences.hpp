// Preferences and rewards in axolotl's files: `rl`, `reward_model`.
#pragma once

#include "trainers/reader.hpp"

namespace vramfit::trainers {

/// Which of trl's trainers the file asks for, and its arguments; behind all that the file says of training.
void read_axolotl_preferences(Reader& reader, Draft& draft);

}  // namespace vramfit::trainers
