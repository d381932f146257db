// Modules that are trained as a whole beside adapters (LoraConfig.modules_to_save).
#pragma once

#include "model/network/run.hpp"

namespace vramfit::model {

/// peft's set_additional_trainable_modules: a trainable copy in place of each named module. Throws Error
/// (unsupported) for modules that hold other modules, (invalid) for packed weights.
void save_modules(const Run& run, Network& network);

}  // namespace vramfit::model
