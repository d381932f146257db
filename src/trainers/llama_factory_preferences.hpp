// LLaMA-Factory's stages of preference training.
#pragma once

#include <string>

#include "trainers/reader.hpp"

namespace vramfit::trainers {

/// Whether it is the stage dpo, kto or rm.
bool is_factory_preference(const std::string& stage);

/// What the stage's trainer is told.
void read_factory_preferences(Reader& reader, const std::string& stage, Draft& draft);

}  // namespace vramfit::trainers
