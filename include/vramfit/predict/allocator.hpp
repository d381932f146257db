// Which allocator a run meets: the card's usable memory, the settings in its environment, torch's version.
#pragma once

#include "vramfit/alloc/replay.hpp"
#include "vramfit/spec/device.hpp"
#include "vramfit/spec/job.hpp"
#include "vramfit/spec/stack.hpp"

namespace vramfit {

/// Throws Error for settings that this version of torch does not know.
ReplayOptions allocator_of(const Stack& stack, const Device& device);
/// The allocator of the job's process.
ReplayOptions allocator_of(const Job& job);
/// The same on a card that is large enough.
ReplayOptions without_limit(ReplayOptions options);

}  // namespace vramfit
