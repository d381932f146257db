// What axolotl casts to float32 while it loads, and what of it stays so.
#pragma once

#include "trainers/reader.hpp"

namespace vramfit::trainers {

/// Norms, and embedding and head; packed weights are prepared for training. Under FSDP neither is done.
void read_axolotl_casts(Reader& reader, Draft& draft);

/// Whether they stay, once the adapter, the attention and the plugins are read.
void leave_axolotl_casts(Reader& reader, Draft& draft);

}  // namespace vramfit::trainers
