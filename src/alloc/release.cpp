// Memory given back to the device: on out of memory, by empty_cache, by garbage collection.
#include <algorithm>

#include "state.hpp"

namespace vramfit::allocator {

namespace {

// DeviceCachingAllocator::release_block (2.6.0): cudaFree of a segment that is one free block.
void release_segment(State& state, BlockId id) {
    const Block block = state.blocks[id];
    state.device.give(block.address, block.size);
    state.total -= block.size;
    count(state, state.lanes[block.lane].small, [&](PoolStatistics& pool) {
        pool.segment_count.add(-1);
        pool.reserved.add(-block.size);
    });
    if (block.size >= state.settings.max_split_size) state.statistics.oversize_segments.add(-1);
    ++state.statistics.device_frees;
    erase_free(state, id);
    drop_block(state, id);
}

// PyTorch tests expandable only; a split block can be met here only after max_split_size was changed while blocks
// lived, which PyTorch leaves undefined.
bool releasable(const Block& block) { return !block.is_expandable() && !block.is_split(); }

// The blocks of a free list, since releasing changes it.
std::vector<BlockId> blocks_of(const FreeList& free) {
    std::vector<BlockId> ids;
    for (auto at = free.begin(); at != free.end(); at = free.next(at)) ids.push_back(free.at(at).block);
    return ids;
}

// DeviceCachingAllocator::release_blocks (2.6.0).
void release_blocks(State& state, bool small) {
    std::vector<BlockId> to_unmap;
    for (const Lane& lane : state.lanes) {
        if (lane.small != small) continue;
        for (const BlockId id : blocks_of(lane.free)) {
            if (state.blocks[id].is_expandable())
                to_unmap.push_back(id);
            else if (!state.blocks[id].is_split())
                release_segment(state, id);
        }
    }
    for (const BlockId id : to_unmap) unmap(state, id);
}

}  // namespace

// DeviceCachingAllocator::release_available_cached_blocks (2.6.0).
bool release_oversize(State& state, std::uint32_t lane, std::int64_t size) {
    const std::int64_t limit = state.settings.max_split_size;
    if (limit == kNoSplitLimit) return false;
    const std::int64_t wanted = std::max(size, limit);
    const FreeList& free = state.lanes[lane].free;
    const FreeList::Position large_enough = free.at_least(wanted);
    if (large_enough != free.end() && releasable(state.blocks[free.at(large_enough).block])) {
        release_segment(state, free.at(large_enough).block);
        return true;
    }
    std::vector<BlockId> candidates;  // largest first
    std::int64_t collected = 0;
    for (auto at = large_enough; at != free.begin() && collected < wanted;) {
        at = free.previous(at);
        const FreeEntry& entry = free.at(at);
        if (entry.size < limit) break;
        if (!releasable(state.blocks[entry.block])) continue;
        candidates.push_back(entry.block);
        collected += entry.size;
    }
    for (const BlockId id : candidates) release_segment(state, id);
    return collected >= wanted;
}

// DeviceCachingAllocator::release_cached_blocks (2.6.0); emptyCache does nothing else.
void release_all(State& state) {
    ++state.statistics.sync_all_streams;
    synchronize(state);
    release_blocks(state, false);
    release_blocks(state, true);
}

namespace {

std::uint32_t age_of(const State& state, const Block& block) { return state.calls[0] - block.calls_when_freed; }

// One round: every block at least as old as the average at its beginning.
std::int64_t release_old(State& state, double& total_age, std::int64_t& block_count) {
    const double limit = total_age / static_cast<double>(block_count);
    std::int64_t reclaimed = 0;
    for (const Lane& lane : state.lanes) {
        if (lane.small) continue;
        for (const BlockId id : blocks_of(lane.free)) {
            const Block& block = state.blocks[id];
            if (!releasable(block) || age_of(state, block) < limit) continue;
            reclaimed += block.size;
            total_age -= age_of(state, block);
            --block_count;
            release_segment(state, id);
        }
    }
    return reclaimed;
}

}  // namespace

// DeviceCachingAllocator::garbage_collect_cached_blocks (2.6.0): the large pool only.
void collect_garbage(State& state) {
    const auto allowed =
        static_cast<std::int64_t>(state.settings.garbage_collection_threshold * static_cast<double>(state.limit));
    if (state.total <= allowed) return;
    const std::int64_t goal = state.total - allowed;
    double total_age = 0.0;
    std::int64_t block_count = 0;
    for (const Lane& lane : state.lanes) {
        if (lane.small) continue;
        for (const BlockId id : blocks_of(lane.free)) {
            if (state.blocks[id].is_split()) continue;
            total_age += age_of(state, state.blocks[id]);
            ++block_count;
        }
    }
    for (std::int64_t reclaimed = 0; reclaimed < goal && block_count > 0;) {
        const std::int64_t won = release_old(state, total_age, block_count);
        if (won == 0) break;
        reclaimed += won;
    }
}

}  // namespace vramfit::allocator
