// A request: best fit among the free blocks, else a new segment, else memory given back first.
#include "state.hpp"
#include "vramfit/alloc/rounding.hpp"

namespace vramfit::allocator {

namespace {

/// A rounded request.
struct Request {
    std::int64_t size = 0;
    std::int64_t segment = 0;
    std::uint32_t lane = 0;
    bool small = false;
};

// How large a free block could grow: with unmapped space behind it.
std::int64_t grown(const State& state, BlockId id) {
    const Block& block = state.blocks[id];
    if (block.next == kNoBlock || state.blocks[block.next].mapped) return block.size;
    return block.size + state.blocks[block.next].size;
}

// Among expandable blocks prefer the one that could grow least; with the setting off again pass them by.
FreeList::Position past_expandable(const State& state, const FreeList& free, FreeList::Position at) {
    const auto expandable = [&](FreeList::Position p) { return state.blocks[free.at(p).block].is_expandable(); };
    if (!state.settings.expandable_segments) {
        while (at != free.end() && expandable(at)) at = free.next(at);
        return at;
    }
    for (auto next = free.next(at); expandable(at) && next != free.end(); next = free.next(at)) {
        if (grown(state, free.at(next).block) >= grown(state, free.at(at).block)) break;
        at = next;
    }
    return at;
}

using InList = std::optional<FreeList::Position>;

// DeviceCachingAllocator::get_free_block (2.6.0): one candidate; if its size is refused the search is over. It stays
// in the list until it is handed out.
InList find_cached(State& state, const Request& request) {
    if (collects_garbage(state)) ++state.calls[request.small];
    const FreeList& free = state.lanes[request.lane].free;
    FreeList::Position at = free.at_least(request.size);
    if (at == free.end()) return std::nullopt;
    if (state.blocks[free.at(at).block].is_expandable()) at = past_expandable(state, free, at);
    if (at == free.end()) return std::nullopt;
    const FreeEntry& entry = free.at(at);
    const std::int64_t limit = state.settings.max_split_size;
    if (request.size < limit && entry.size >= limit) return std::nullopt;
    if (request.size >= limit && entry.size >= request.size + state.settings.max_non_split_rounding)
        return std::nullopt;
    return at;
}

// cudaMalloc of one segment, as one block.
BlockId ordinary_segment(State& state, const Request& request) {
    const std::optional<std::int64_t> address = state.device.take(request.segment);
    if (!address) return kNoBlock;
    state.total += request.segment;
    const BlockId id = new_block(state, request.lane, *address, request.segment, kNone);
    state.blocks[id].order = order_of_segment(state, *address, request.segment);
    count(state, request.small, [&](PoolStatistics& pool) {
        pool.segment_count.add(1);
        pool.reserved.add(request.segment);
    });
    if (request.segment >= state.settings.max_split_size) state.statistics.oversize_segments.add(1);
    ++state.statistics.device_allocs;
    return id;
}

// DeviceCachingAllocator::alloc_block (2.6.0).
BlockId new_segment(State& state, const Request& request) {
    if (state.limited && state.total + request.segment > state.limit) return kNoBlock;
    if (state.settings.expandable_segments) return extend_expandable(state, request.lane, request.size);
    return ordinary_segment(state, request);
}

// throw_on_cudamalloc_oom (2.12, pull request 179473): refused before the driver is asked, nothing is released.
bool rejected(State& state, const Request& request) {
    if (!state.settings.throw_on_device_oom) return false;
    const double allowed = state.settings.memory_fraction * static_cast<double>(state.device_total);
    if (state.total + request.segment <= static_cast<std::int64_t>(allowed)) return false;
    ++state.statistics.oom_rejections;
    return true;
}

// DeviceCachingAllocator::malloc (2.6.0): what happens when no cached block serves.
BlockId get_from_device(State& state, const Request& request) {
    if (collects_garbage(state)) collect_garbage(state);
    if (rejected(state, request)) return kNoBlock;
    BlockId id = new_segment(state, request);
    if (id == kNoBlock && release_oversize(state, request.lane, request.size)) id = new_segment(state, request);
    if (id == kNoBlock) {
        release_all(state);
        ++state.statistics.alloc_retries;
        id = new_segment(state, request);
    }
    return id;
}

// DeviceCachingAllocator::should_split (2.6.0).
bool should_split(const State& state, const Request& request, std::int64_t size) {
    const std::int64_t rest = size - request.size;
    if (request.small || state.settings.expandable_segments) return rest >= kMinBlockSize;
    return request.size < state.settings.max_split_size && rest > kSmallSize;
}

// The low part of `rest` becomes a block of its own; `rest` returns to the free list, or stays there.
BlockId split_off(State& state, BlockId rest, std::int64_t size, InList place) {
    const Block parent = state.blocks[rest];
    const std::int64_t order = order_of_part(state, rest, 0);
    const BlockId id = new_block(state, parent.lane, parent.address, size, parent.range);
    state.blocks[id].order = order;
    link(state, id, parent.prev, rest);
    move_begin(state, rest, size);
    insert_free(state, rest, place);
    return id;
}

// DeviceCachingAllocator::alloc_found_block (2.6.0). `place`: where the block stands in the free list.
BlockId hand_out(State& state, const Request& request, BlockId found, InList place, std::int64_t bytes) {
    const bool was_split = state.blocks[found].is_split();
    const std::int64_t found_size = state.blocks[found].size;
    const bool expandable = state.blocks[found].is_expandable();
    const bool split = should_split(state, request, found_size);
    if (place && !split) state.lanes[request.lane].free.erase(*place);
    const BlockId id = split ? split_off(state, found, request.size, place) : found;
    Block& block = state.blocks[id];
    block.allocated = true;
    block.requested = bytes;
    const std::int64_t size = block.size;
    // what becomes of the inactive part of split segments: shrinks, comes into being, or goes
    const bool counted = !expandable && (split || was_split);
    const std::int64_t inactive = was_split ? -size : found_size - size;
    const std::int64_t inactive_count = split ? (was_split ? 0 : 1) : -1;
    count(state, request.small, [&](PoolStatistics& pool) {
        if (counted) {
            pool.inactive_split.add(inactive);
            pool.inactive_split_count.add(inactive_count);
        }
        pool.allocation_count.add(1);
        pool.allocated.add(size);
        pool.active_count.add(1);
        pool.active.add(size);
        pool.requested.add(bytes);
    });
    if (size >= state.settings.max_split_size) state.statistics.oversize_allocations.add(1);
    return id;
}

}  // namespace

AllocationResult allocate(State& state, std::int64_t bytes, std::int32_t stream) {
    if (bytes <= 0) return {true, kNoBlock};
    // NativeCachingAllocator::allocate: "Tried to allocate more than 1EB memory", before any statistic
    if (bytes >= kLargestRequest) return {false, kNoBlock};
    if (state.events_waiting > 0) see_events(state);
    Request request;
    request.size = round_size(bytes, state.settings);
    request.small = is_small(request.size);
    request.segment = segment_size(request.size, state.settings);
    request.lane = lane_of(state, request.small, stream);
    const InList cached = find_cached(state, request);
    const BlockId id = cached ? state.lanes[request.lane].free.at(*cached).block : get_from_device(state, request);
    if (id == kNoBlock) {
        ++state.statistics.ooms;
        return {false, kNoBlock};
    }
    return {true, hand_out(state, request, id, cached, bytes)};
}

// DeviceCachingAllocator::free (2.6.0).
void release_block(State& state, BlockId id) {
    Block& block = state.blocks[id];
    block.allocated = false;
    const std::int64_t size = block.size;
    count(state, state.lanes[block.lane].small, [&](PoolStatistics& pool) {
        pool.allocation_count.add(-1);
        pool.allocated.add(-size);
    });
    if (size >= state.settings.max_split_size) state.statistics.oversize_allocations.add(-1);
    if (block.foreign != kNone)
        wait_for_foreign(state, id);
    else
        make_free(state, id);
}

}  // namespace vramfit::allocator
