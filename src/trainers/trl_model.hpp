// The network and its adapters by the keys of trl's scripts.
#pragma once

#include "trainers/reader.hpp"

namespace vramfit::trainers {

/// ModelConfig: dtype, attention, quantization, LoRA.
void read_trl_model(Reader& reader, Draft& draft);

}  // namespace vramfit::trainers
