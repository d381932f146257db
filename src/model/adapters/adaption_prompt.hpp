// Prompts inside of attention (peft's adaption prompt): what is trained.
#pragma once

#include "model/network/run.hpp"

namespace vramfit::model {

/// AdaptedAttention.__init__ around the attention of the last layers. The parameters of the base are not trained.
void add_adaption_prompts(const Run& run, Network& network);

}  // namespace vramfit::model
