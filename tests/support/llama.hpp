// A small Llama and questions about it.
#pragma once

#include "vramfit/spec/job.hpp"

namespace vramfit::test {

/// Full training in bfloat16 of a Llama with `layers` layers, batch 1 x 128, two steps, no card.
Job small_llama(std::int64_t layers = 3);

}  // namespace vramfit::test
