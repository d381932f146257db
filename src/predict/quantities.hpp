// Names of measurements and their predicted bytes, as the job schema defines them.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "vramfit/alloc/replay.hpp"
#include "vramfit/spec/device.hpp"
#include "vramfit/spec/train_plan.hpp"

namespace vramfit {

/// All that the run has; what does not happen in it (a step beyond the last, a phase without windows) is left out.
std::map<std::string, std::int64_t> quantities_of(const Timeline& timeline, const LoopPlan& loop, const Device& device);

}  // namespace vramfit
