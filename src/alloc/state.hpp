// The state of the caching allocator: blocks, the free lists they stand in, the device below.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "free_list.hpp"
#include "vramfit/alloc/caching_allocator.hpp"
#include "vramfit/alloc/device_memory.hpp"
#include "vramfit/alloc/settings.hpp"
#include "vramfit/alloc/statistics.hpp"

namespace vramfit::allocator {

inline constexpr std::uint32_t kNone = 0xffffffffu;

/// A piece of a segment (struct Block, CUDACachingAllocator.cpp); one cache line.
struct alignas(64) Block {
    std::int64_t address = 0;
    std::int64_t size = 0;
    std::int64_t requested = 0;
    std::int64_t order = 0;  ///< decides among free blocks of equal size, see order_of_segment
    BlockId prev = kNoBlock;
    BlockId next = kNoBlock;
    std::uint32_t lane = kNone;          ///< kNone: the slot is unused
    std::uint32_t range = kNone;         ///< expandable segment
    std::uint32_t pending = 0;           ///< events it waits for
    std::uint32_t foreign = kNone;       ///< first of the foreign streams that use it
    std::uint32_t calls_when_freed = 0;  ///< gc_count_base
    bool allocated = false;
    bool mapped = true;

    bool is_split() const { return prev != kNoBlock || next != kNoBlock; }
    bool is_expandable() const { return range != kNone; }
};

/// The free blocks of one stream in one pool (PyTorch keeps one set for each pool, ordered by stream first).
struct Lane {
    std::int32_t stream = 0;
    bool small = false;
    FreeList free;
    std::vector<BlockId> unmapped;  ///< by address
};

/// An expandable segment: a range of addresses (struct ExpandableSegment).
struct Range {
    std::int64_t address = 0;
    std::int64_t size = 0;
    std::int64_t unit = 0;
};

/// One element of a block's list of foreign streams.
struct ForeignUse {
    std::int32_t stream = 0;
    std::uint32_t next = kNone;
};

/// Blocks that wait for one stream, in order of their events.
struct StreamEvents {
    std::int32_t stream = 0;
    std::vector<BlockId> blocks;
    std::size_t head = 0;  ///< first event not yet seen
    std::size_t done = 0;  ///< events before this one are done
    std::size_t gone = 0;  ///< events that were in the list before its first
};

struct State {
    AllocatorSettings settings;
    TieRule ties = TieRule::address;
    DeviceMemory device{std::nullopt, AddressRule::rising};
    std::int64_t device_total = 0;
    bool limited = false;    ///< set_fraction
    std::int64_t limit = 0;  ///< allowed_memory_maximum
    std::int64_t total = 0;  ///< total_allocated_memory: segments and mapped bytes

    std::vector<Block> blocks;
    std::vector<BlockId> unused_blocks;
    std::vector<Lane> lanes;
    std::vector<Range> ranges;
    std::vector<ForeignUse> foreign;
    std::uint32_t unused_foreign = kNone;
    std::vector<StreamEvents> events;
    std::size_t events_waiting = 0;
    std::uint32_t calls[2] = {0, 0};  ///< get_free_blocks_call_count of the large and the small pool
    std::int64_t next_order = 1;
    AllocatorStatistics statistics;
};

// lanes and blocks: blocks.cpp
std::uint32_t lane_of(State& state, bool small, std::int32_t stream);
BlockId new_block(State& state, std::uint32_t lane, std::int64_t address, std::int64_t size, std::uint32_t range);
void drop_block(State& state, BlockId id);
/// Puts `id` between its neighbours `before` and `after`, which may be missing.
void link(State& state, BlockId id, BlockId before, BlockId after);
/// The order of a new segment: its address, or by creation a place above all earlier ones with room for its parts.
std::int64_t order_of_segment(State& state, std::int64_t address, std::int64_t size);
/// The order of a new block that begins `offset` bytes behind the beginning of `parent`.
std::int64_t order_of_part(State& state, BlockId parent, std::int64_t offset);
/// Lets a block begin `offset` bytes later.
void move_begin(State& state, BlockId id, std::int64_t offset);
/// `instead_of`: where a free block stands that is no more.
void insert_free(State& state, BlockId id, std::optional<FreeList::Position> instead_of = std::nullopt);
void erase_unmapped(State& state, BlockId id);
void erase_free(State& state, BlockId id);
/// Absorbs `neighbour` into `id` if both are free and alike; returns the bytes won.
std::int64_t absorb(State& state, BlockId id, BlockId neighbour);
/// The end of a block: merged with its neighbours and put into the free list (free_block).
void make_free(State& state, BlockId id);

// allocation: malloc.cpp
AllocationResult allocate(State& state, std::int64_t bytes, std::int32_t stream);
void release_block(State& state, BlockId id);

// expandable segments: expandable.cpp
BlockId extend_expandable(State& state, std::uint32_t lane, std::int64_t size);
void unmap(State& state, BlockId id);

// giving memory back: release.cpp
bool release_oversize(State& state, std::uint32_t lane, std::int64_t size);
void release_all(State& state);
void collect_garbage(State& state);

// streams: streams.cpp
void record_use(State& state, BlockId id, std::int32_t stream);
void wait_for_foreign(State& state, BlockId id);
void see_events(State& state);
void finish_events(State& state, std::int32_t stream);
/// Of the first `count` events since the beginning.
void finish_events(State& state, std::int32_t stream, std::size_t count);
void synchronize(State& state);

/// Both levels that a block's pool counts in: all, and its own.
template <class Change>
void count(State& state, bool small, Change change) {
    change(state.statistics.pools[0]);
    change(state.statistics.pools[small ? 1 : 2]);
}

/// A garbage collection can happen: only then PyTorch counts calls.
inline bool collects_garbage(const State& state) {
    return state.limited && state.settings.garbage_collection_threshold > 0.0;
}

}  // namespace vramfit::allocator
