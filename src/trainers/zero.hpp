// DeepSpeed's ZeRO as its own configuration and accelerate's say it.
#pragma once

#include <span>

#include "trainers/reader.hpp"

namespace vramfit::trainers {

/// Options in accelerate's `deepspeed_config`, and as arguments of its launcher.
extern const std::span<const KeyRow> kZeroOfAccelerate;

/// Trainers that leave DeepSpeed to transformers' own.
void allow_zero(Draft& draft);

/// The reader's document is DeepSpeed's configuration.
void read_zero(Reader& reader, Draft& draft);

/// What accelerate's file or launcher says without a configuration of DeepSpeed. `precision`: its mixed_precision.
void read_zero_of_accelerate(Reader& reader, const std::string& precision, Draft& draft);

}  // namespace vramfit::trainers
