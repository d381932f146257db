// The tables of plan flags, by what they are about.
#pragma once

#include <span>

#include "cli/plan_flags.hpp"

namespace vramfit::cli {

std::span<const PlanFlag> method_flags();    ///< method, adapters, quantization
std::span<const PlanFlag> load_flags();      ///< dtype, attention
std::span<const PlanFlag> training_flags();  ///< batch, optimizer, checkpointing, loop
std::span<const PlanFlag> place_flags();     ///< library versions, card, allocator

}  // namespace vramfit::cli
