// Blocks: kept in a slab, chained into segments, merged with free neighbours.
#include <algorithm>

#include "state.hpp"

namespace vramfit::allocator {

std::uint32_t lane_of(State& state, bool small, std::int32_t stream) {
    for (std::uint32_t i = 0; i < state.lanes.size(); ++i)
        if (state.lanes[i].small == small && state.lanes[i].stream == stream) return i;
    state.lanes.push_back({stream, small, {}, {}});
    return static_cast<std::uint32_t>(state.lanes.size() - 1);
}

BlockId new_block(State& state, std::uint32_t lane, std::int64_t address, std::int64_t size, std::uint32_t range) {
    BlockId id = 0;
    if (state.unused_blocks.empty()) {
        id = static_cast<BlockId>(state.blocks.size());
        state.blocks.emplace_back();
    } else {
        id = state.unused_blocks.back();
        state.unused_blocks.pop_back();
        state.blocks[id] = Block{};
    }
    Block& block = state.blocks[id];
    block.address = address;
    block.size = size;
    block.lane = lane;
    block.range = range;
    return id;
}

void drop_block(State& state, BlockId id) {
    state.blocks[id].lane = kNone;
    state.unused_blocks.push_back(id);
}

void link(State& state, BlockId id, BlockId before, BlockId after) {
    state.blocks[id].prev = before;
    state.blocks[id].next = after;
    if (before != kNoBlock) state.blocks[before].next = id;
    if (after != kNoBlock) state.blocks[after].prev = id;
}

std::int64_t order_of_segment(State& state, std::int64_t address, std::int64_t size) {
    if (state.ties == TieRule::address) return address;
    const std::int64_t order = state.next_order;
    state.next_order += state.ties == TieRule::segment_creation ? size : 1;
    return order;
}

// 2.12.0 numbers blocks: the low part of a split is a new one, and a block that absorbs another keeps its number.
std::int64_t order_of_part(State& state, BlockId parent, std::int64_t offset) {
    if (state.ties == TieRule::block_creation) return state.next_order++;
    return state.blocks[parent].order + offset;
}

void move_begin(State& state, BlockId id, std::int64_t offset) {
    Block& block = state.blocks[id];
    block.address += offset;
    block.size -= offset;
    if (state.ties != TieRule::block_creation) block.order += offset;
}

void erase_unmapped(State& state, BlockId id) {
    std::vector<BlockId>& unmapped = state.lanes[state.blocks[id].lane].unmapped;
    unmapped.erase(std::find(unmapped.begin(), unmapped.end(), id));
}

namespace {

FreeEntry entry_of(const Block& block, BlockId id) { return {block.size, block.order, id}; }

bool can_merge(const Block& block, const Block& neighbour) {
    return !neighbour.allocated && neighbour.pending == 0 && neighbour.foreign == kNone &&
           neighbour.mapped == block.mapped;
}

}  // namespace

// BlockPool::insert_into_blocks (2.6.0).
void insert_free(State& state, BlockId id, std::optional<FreeList::Position> instead_of) {
    Block& block = state.blocks[id];
    Lane& lane = state.lanes[block.lane];
    block.calls_when_freed = state.calls[lane.small];
    if (instead_of)
        lane.free.replace(*instead_of, entry_of(block, id));
    else
        lane.free.insert(entry_of(block, id));
}

void erase_free(State& state, BlockId id) {
    const Block& block = state.blocks[id];
    FreeList& free = state.lanes[block.lane].free;
    free.erase(free.position_of(entry_of(block, id)));
}

namespace {

/// `id` takes the bytes of `neighbour`, which stands in no list any more.
std::int64_t take_bytes(State& state, BlockId id, BlockId neighbour) {
    Block& block = state.blocks[id];
    const Block& other = state.blocks[neighbour];
    const std::int64_t won = other.size;
    block.size += won;
    if (block.prev == neighbour) {
        block.address = other.address;
        if (state.ties != TieRule::block_creation) block.order = other.order;
        link(state, id, other.prev, block.next);
    } else {
        link(state, id, block.prev, other.next);
    }
    drop_block(state, neighbour);
    return won;
}

}  // namespace

// DeviceCachingAllocator::try_merge_blocks (2.6.0).
std::int64_t absorb(State& state, BlockId id, BlockId neighbour) {
    if (neighbour == kNoBlock) return 0;
    const Block& other = state.blocks[neighbour];
    if (!can_merge(state.blocks[id], other)) return 0;
    if (other.mapped)
        erase_free(state, neighbour);
    else
        erase_unmapped(state, neighbour);
    return take_bytes(state, id, neighbour);
}

// DeviceCachingAllocator::free_block (2.6.0).
void make_free(State& state, BlockId id) {
    Block& block = state.blocks[id];
    const std::int64_t size = block.size;
    const std::int64_t requested = block.requested;
    std::int64_t split_count = 0;
    std::int64_t split_bytes = 0;
    FreeList& free = state.lanes[block.lane].free;
    std::optional<FreeList::Position> merged;  // where a neighbour stands that is no more
    for (const BlockId neighbour : {block.prev, block.next}) {
        if (neighbour == kNoBlock || !can_merge(block, state.blocks[neighbour])) continue;
        if (merged) free.erase(*merged);
        merged = free.position_of(entry_of(state.blocks[neighbour], neighbour));
        --split_count;
        split_bytes -= take_bytes(state, id, neighbour);
    }
    block.requested = 0;
    insert_free(state, id, merged);
    if (block.is_split()) {
        ++split_count;
        split_bytes += block.size;
    }
    const bool expandable = block.is_expandable();
    count(state, state.lanes[block.lane].small, [&](PoolStatistics& pool) {
        if (!expandable) {
            pool.inactive_split_count.add(split_count);
            pool.inactive_split.add(split_bytes);
        }
        pool.active_count.add(-1);
        pool.active.add(-size);
        pool.requested.add(-requested);
    });
}

}  // namespace vramfit::allocator
