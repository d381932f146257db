// What a script sets up: its trainer with configuration, network and adapters.
#pragma once

#include <string>
#include <string_view>

#include "trainers/value.hpp"

namespace vramfit::trainers::python {

/// The arguments of the trainer's configuration at the root; `model`, `from_pretrained`, `get_peft_model`,
/// `peft_config` and others as maps; `program` becomes the trainer's name.
Value set_up_by(std::string_view text, const std::string& file, bool bf16_card, std::string& program);

}  // namespace vramfit::trainers::python
