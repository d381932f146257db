// What axolotl casts to float32 while it loads, and does not cast back.
#pragma once

#include "trainers/reader.hpp"

namespace vramfit::trainers {

void leave_axolotl_casts(Reader& reader, Draft& draft);

}  // namespace vramfit::trainers
