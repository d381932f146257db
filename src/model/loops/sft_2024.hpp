// trl's SFTTrainer of 2024, which prepares the model and makes the adapters itself.
#pragma once

#include "model/network/run.hpp"

namespace vramfit::model {

/// trl 0.8.6 SFTTrainer.__init__ up to Trainer.__init__, with the windows of its calls.
void adapt_in_sft_trainer(const Run& run, Network& network);

}  // namespace vramfit::model
