// The replay event by event: slower than replay(), which skips what repeats.
#include "vramfit/alloc/walk.hpp"

#include <utility>

#include "alloc/warm_up.hpp"

namespace vramfit {

void walk(const Program& program, const AllocatorOptions& options, const std::function<void(const WalkedEvent&)>& see) {
    CachingAllocator allocator(options);
    std::vector<BlockId> blocks(program.allocations.size(), kNoBlock);
    for (std::size_t i = 0; i < program.events.size(); ++i) {
        const Event event = program.events[i];
        WalkedEvent walked{i, kNoBlock, -1, true, &allocator};
        switch (event.kind) {
            case EventKind::alloc: {
                const Allocation& wanted = program.allocations[event.id];
                const AllocationResult result = allocator.malloc(wanted.bytes, wanted.stream);
                walked.served = result.ok;
                walked.block = blocks[event.id] = result.block;
                if (result.ok) walked.address = allocator.address_of(result.block);
                break;
            }
            case EventKind::free:
                walked.block = std::exchange(blocks[event.id], kNoBlock);
                walked.address = allocator.address_of(walked.block);
                allocator.free(walked.block);
                break;
            case EventKind::empty_cache: allocator.empty_cache(); break;
            case EventKind::managed_alloc:
            case EventKind::managed_free: break;
            case EventKind::record_stream: allocator.record_stream(blocks[event.id], event.stream); break;
            case EventKind::stream_done: allocator.finish_stream(event.stream, event.id); break;
            case EventKind::warm_up: {
                const AllocationResult result =
                    allocator.malloc(bytes_of(program.warm_ups[event.id], allocator.statistics().all()));
                walked.served = result.ok;
                allocator.free(result.block);
                break;
            }
        }
        see(walked);
        if (!walked.served) return;
    }
}

std::vector<EventLevels> levels_by_event(const Program& program, const AllocatorOptions& options) {
    std::vector<EventLevels> out;
    out.reserve(program.events.size());
    walk(program, options, [&out](const WalkedEvent& walked) {
        const PoolStatistics& all = walked.allocator->statistics().all();
        out.push_back({all.allocated.current, all.reserved.current});
    });
    return out;
}

}  // namespace vramfit
