// Replays a recorded program event by event, for those who want to see the allocator after each of them.
#pragma once

#include <functional>
#include <vector>

#include "vramfit/alloc/caching_allocator.hpp"
#include "vramfit/trace/program.hpp"

namespace vramfit {

/// What the allocator did with an event.
struct WalkedEvent {
    std::size_t number = 0;                       ///< of the event
    BlockId block = kNoBlock;                     ///< of an allocation; of a free, the block that it gives back
    std::int64_t address = -1;                    ///< of that block
    bool served = true;                           ///< false: out of memory, the last event
    const CachingAllocator* allocator = nullptr;  ///< after the event
};

/// Calls `see` after each event up to the end or the request that fails.
void walk(const Program& program, const AllocatorOptions& options, const std::function<void(const WalkedEvent&)>& see);

/// The allocator's levels after an event.
struct EventLevels {
    std::int64_t allocated = 0;
    std::int64_t reserved = 0;
};

/// By event, up to the end or the request that fails.
std::vector<EventLevels> levels_by_event(const Program& program, const AllocatorOptions& options);

}  // namespace vramfit
