// Looking for the cheapest changes of a trainer's file with which the run fits.
#pragma once

#include "vramfit/check/check.hpp"

namespace vramfit {

/// Adds what was tried and what fits, the cheapest first, else the smallest run; each is read from the changed file and
/// predicted.
void add_changes(const CheckQuestion& question, const Reading& reading, const Device& device, CheckAnswer& answer);

}  // namespace vramfit
