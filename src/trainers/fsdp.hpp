// FSDP as trainers' and launchers' files set it up.
#pragma once

#include <span>

#include "trainers/reader.hpp"

namespace vramfit::trainers {

/// Options in accelerate's `fsdp_config`, and as arguments of its launcher.
extern const std::span<const KeyRow> kFsdpOfAccelerate;
/// TrainingArguments' fsdp and fsdp_config.
extern const std::span<const KeyRow> kFsdpArguments;

/// TrainingArguments' `fsdp` and `fsdp_config`, which go before what a launcher says. Call it where the trainer is
/// transformers' own.
void read_fsdp_arguments(Reader& reader, Draft& draft);

/// Whether axolotl's file asks for FSDP.
bool asks_for_axolotl_fsdp(Reader& reader);

/// What it asks for, over the processes that the draft has.
void read_fsdp_of_axolotl(Reader& reader, Draft& draft);

/// What accelerate's file or launcher says, where it asks for FSDP.
void read_fsdp_of_accelerate(Reader& reader, Draft& draft);

}  // namespace vramfit::trainers
