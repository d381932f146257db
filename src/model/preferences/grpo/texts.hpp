// The texts of a generation, which processes exchange for their logs.
#pragma once

#include "model/network/run.hpp"

namespace vramfit::model {

/// gather_object of prompts, completions and what reward functions log; one process gathers nothing.
void gather_texts(const Run& run);

}  // namespace vramfit::model
