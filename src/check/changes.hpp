// Looking for the cheapest changes of a trainer's file with which the run fits.
#pragma once

#include "vramfit/check/check.hpp"

namespace vramfit {

/// Changes with which the run fits, cheapest first; each is read from the changed file and predicted.
std::vector<PricedChange> price_changes(const CheckQuestion& question, const Reading& reading, const Device& device);

}  // namespace vramfit
