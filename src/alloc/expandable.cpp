// Expandable segments: address ranges into which device memory is mapped unit by unit.
#include <algorithm>

#include "state.hpp"
#include "vramfit/alloc/rounding.hpp"
#include "vramfit/base/checked.hpp"

namespace vramfit::allocator {

namespace {

// Without a card the range is as large as the largest card could be, so that addresses suffice for many ranges.
constexpr std::int64_t kLargestDevice = std::int64_t{1} << 46;

bool usable(const State& state, BlockId id) {
    if (id == kNoBlock) return false;
    const Block& block = state.blocks[id];
    return !block.allocated && block.pending == 0 && block.foreign == kNone;
}

bool has_room(const State& state, BlockId start, std::int64_t size) {
    std::int64_t room = 0;
    for (BlockId id = start; room < size && usable(state, id); id = state.blocks[id].next)
        room += state.blocks[id].size;
    return room >= size;
}

void insert_unmapped(State& state, BlockId id) {
    std::vector<BlockId>& unmapped = state.lanes[state.blocks[id].lane].unmapped;
    const auto after = std::lower_bound(unmapped.begin(), unmapped.end(), id, [&](BlockId a, BlockId b) {
        return state.blocks[a].address < state.blocks[b].address;
    });
    unmapped.insert(after, id);
}

// ExpandableSegment's constructor (2.6.0): room for the whole device and an eighth more, all unmapped.
BlockId new_range(State& state, std::uint32_t lane, std::int64_t size) {
    const std::int64_t unit = state.lanes[lane].small ? kSmallBuffer : state.settings.large_segment_size;
    const std::int64_t total = std::min(state.device_total, kLargestDevice);
    const std::int64_t bytes = round_up(total + total / 8, unit);
    if (bytes < size) return kNoBlock;
    const std::optional<std::int64_t> address = state.device.reserve_addresses(bytes);
    if (!address) return kNoBlock;
    state.ranges.push_back({*address, bytes, unit});
    const auto range = static_cast<std::uint32_t>(state.ranges.size() - 1);
    const BlockId id = new_block(state, lane, *address, bytes, range);
    state.blocks[id].mapped = false;
    state.blocks[id].order = order_of_segment(state, *address, bytes);
    insert_unmapped(state, id);
    return id;
}

// DeviceCachingAllocator::find_expandable_block (2.6.0).
BlockId find_start(State& state, std::uint32_t lane, std::int64_t size) {
    for (const BlockId unmapped : state.lanes[lane].unmapped) {
        const BlockId before = state.blocks[unmapped].prev;
        const BlockId start = usable(state, before) ? before : unmapped;
        if (has_room(state, start, size)) return start;
    }
    return new_range(state, lane, size);
}

// DeviceCachingAllocator::map_block (2.6.0): the first `bytes` of an unmapped block, in whole units.
bool map(State& state, BlockId id, std::int64_t bytes) {
    const std::int64_t unit = state.ranges[state.blocks[id].range].unit;
    const std::int64_t units = ceil_div(bytes, unit);
    if (!state.device.take_pieces(units, unit)) return false;
    const std::int64_t mapped = units * unit;
    erase_unmapped(state, id);
    const Block before = state.blocks[id];
    if (mapped < before.size) {
        const BlockId rest = new_block(state, before.lane, before.address + mapped, before.size - mapped, before.range);
        state.blocks[rest].mapped = false;
        state.blocks[rest].order = order_of_part(state, id, mapped);
        link(state, rest, id, before.next);
        insert_unmapped(state, rest);
    }
    Block& block = state.blocks[id];
    block.mapped = true;
    block.size = mapped;
    absorb(state, id, block.prev);
    absorb(state, id, block.next);
    insert_free(state, id);
    state.total += mapped;
    count(state, state.lanes[block.lane].small, [&](PoolStatistics& pool) { pool.reserved.add(mapped); });
    ++state.statistics.device_allocs;
    return true;
}

// A mapped part of a block that is being unmapped in its middle.
void keep_mapped(State& state, BlockId of, std::int64_t address, std::int64_t size, bool in_front) {
    const Block whole = state.blocks[of];
    const std::int64_t order = order_of_part(state, of, address - whole.address);
    const BlockId part = new_block(state, whole.lane, address, size, whole.range);
    state.blocks[part].order = order;
    if (in_front)
        link(state, part, whole.prev, of);
    else
        link(state, part, of, whole.next);
    insert_free(state, part);
}

void release_range(State& state, BlockId id) {
    Range& range = state.ranges[state.blocks[id].range];
    state.device.return_addresses(range.address, range.size);
    erase_unmapped(state, id);
    drop_block(state, id);
}

}  // namespace

// DeviceCachingAllocator::try_allocate_expandable_block (2.6.0). A failure leaves mapped what was mapped so far.
BlockId extend_expandable(State& state, std::uint32_t lane, std::int64_t size) {
    BlockId start = find_start(state, lane, size);
    if (start == kNoBlock) return kNoBlock;
    if (!state.blocks[start].mapped && !map(state, start, std::min(state.blocks[start].size, size))) return kNoBlock;
    while (state.blocks[start].size < size) {
        const BlockId next = state.blocks[start].next;
        if (!map(state, next, std::min(size - state.blocks[start].size, state.blocks[next].size))) return kNoBlock;
        start = next;
    }
    erase_free(state, start);
    return start;
}

// DeviceCachingAllocator::unmap_block and release_expandable_segment (2.6.0): the units that lie wholly inside.
void unmap(State& state, BlockId id) {
    const Block block = state.blocks[id];
    const Range range = state.ranges[block.range];
    const std::int64_t begin = range.address + round_up(block.address - range.address, range.unit);
    const std::int64_t last = block.address + block.size - range.address;
    const std::int64_t end = range.address + last / range.unit * range.unit;
    if (end <= begin) return;
    const std::int64_t bytes = end - begin;
    erase_free(state, id);
    if (begin > block.address) keep_mapped(state, id, block.address, begin - block.address, true);
    if (end < block.address + block.size) keep_mapped(state, id, end, block.address + block.size - end, false);
    move_begin(state, id, begin - block.address);
    Block& middle = state.blocks[id];
    middle.size = bytes;
    middle.mapped = false;
    absorb(state, id, middle.prev);
    absorb(state, id, middle.next);
    insert_unmapped(state, id);
    state.device.give_pieces(bytes / range.unit, range.unit);
    state.total -= bytes;
    count(state, state.lanes[block.lane].small, [&](PoolStatistics& pool) { pool.reserved.add(-bytes); });
    ++state.statistics.device_frees;
    if (!state.blocks[id].is_split()) release_range(state, id);
}

}  // namespace vramfit::allocator
