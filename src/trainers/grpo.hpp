// trl's GRPOTrainer as files and scripts ask for it.
#pragma once

#include "trainers/reader.hpp"

namespace vramfit::trainers {

/// `training` and rows of GRPOTrainer: its arguments stand in the file under their own names.
void read_groups(Reader& reader, Draft& draft);

}  // namespace vramfit::trainers
