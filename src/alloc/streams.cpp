// Blocks used on other streams: they wait for events before they are free.
#include <algorithm>

#include "state.hpp"

namespace vramfit::allocator {

namespace {

StreamEvents& events_of(State& state, std::int32_t stream) {
    for (StreamEvents& events : state.events)
        if (events.stream == stream) return events;
    state.events.push_back({stream, {}, 0, 0, 0});
    return state.events.back();
}

void take_events(State& state, StreamEvents& events, std::size_t until) {
    while (events.head < until) {
        const BlockId id = events.blocks[events.head++];
        --state.events_waiting;
        if (--state.blocks[id].pending == 0) make_free(state, id);
    }
    if (events.head == events.blocks.size()) {
        events.gone += events.blocks.size();
        events.blocks.clear();
        events.head = events.done = 0;
    }
}

}  // namespace

// DeviceCachingAllocator::recordStream (2.6.0).
void record_use(State& state, BlockId id, std::int32_t stream) {
    Block& block = state.blocks[id];
    if (state.lanes[block.lane].stream == stream) return;
    for (std::uint32_t use = block.foreign; use != kNone; use = state.foreign[use].next)
        if (state.foreign[use].stream == stream) return;
    std::uint32_t use = state.unused_foreign;
    if (use == kNone) {
        use = static_cast<std::uint32_t>(state.foreign.size());
        state.foreign.emplace_back();
    } else {
        state.unused_foreign = state.foreign[use].next;
    }
    state.foreign[use] = {stream, block.foreign};
    block.foreign = use;
}

// DeviceCachingAllocator::insert_events (2.6.0): one event on each foreign stream.
void wait_for_foreign(State& state, BlockId id) {
    Block& block = state.blocks[id];
    while (block.foreign != kNone) {
        const std::uint32_t use = block.foreign;
        events_of(state, state.foreign[use].stream).blocks.push_back(id);
        ++state.events_waiting;
        ++block.pending;
        block.foreign = state.foreign[use].next;
        state.foreign[use].next = state.unused_foreign;
        state.unused_foreign = use;
    }
}

// DeviceCachingAllocator::process_events (2.6.0).
void see_events(State& state) {
    for (StreamEvents& events : state.events) take_events(state, events, events.done);
}

void finish_events(State& state, std::int32_t stream) {
    StreamEvents& events = events_of(state, stream);
    events.done = events.blocks.size();
}

void finish_events(State& state, std::int32_t stream, std::size_t count) {
    StreamEvents& events = events_of(state, stream);
    if (count > events.gone) events.done = std::max(events.done, std::min(count - events.gone, events.blocks.size()));
}

// DeviceCachingAllocator::synchronize_and_free_events (2.6.0).
void synchronize(State& state) {
    for (StreamEvents& events : state.events) take_events(state, events, events.blocks.size());
}

}  // namespace vramfit::allocator
