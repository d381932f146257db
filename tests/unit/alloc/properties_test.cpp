// Random traces: after every event the blocks tile their segments and add up to the statistics.
#include <fmt/format.h>

#include <random>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "vramfit/alloc/caching_allocator.hpp"

using namespace vramfit;

namespace {

void add(PoolStatistics& pool, const SegmentView& segment) {
    pool.reserved.current += segment.reserved;
    if (!segment.expandable) pool.segment_count.current += 1;
    for (const BlockView& block : segment.blocks) {
        const bool allocated = block.state == BlockState::allocated;
        const bool active = allocated || block.state == BlockState::pending_free;
        pool.allocation_count.current += allocated;
        pool.allocated.current += allocated ? block.size : 0;
        pool.active_count.current += active;
        pool.active.current += active ? block.size : 0;
        pool.requested.current += active ? block.requested : 0;
        if (!active && !segment.expandable && segment.blocks.size() > 1) {
            pool.inactive_split_count.current += 1;
            pool.inactive_split.current += block.size;
        }
    }
}

// _check_memory_stat_consistency, test/test_cuda.py (2.6.0).
void check_sums(const PoolStatistics& counted, const PoolStatistics& summed) {
    REQUIRE(counted.requested.current == summed.requested.current);
    REQUIRE(counted.allocated.current == summed.allocated.current);
    REQUIRE(counted.active.current == summed.active.current);
    REQUIRE(counted.reserved.current == summed.reserved.current);
    REQUIRE(counted.inactive_split.current == summed.inactive_split.current);
    REQUIRE(counted.allocation_count.current == summed.allocation_count.current);
    REQUIRE(counted.active_count.current == summed.active_count.current);
    REQUIRE(counted.segment_count.current == summed.segment_count.current);
    REQUIRE(counted.inactive_split_count.current == summed.inactive_split_count.current);
    REQUIRE(counted.requested.current <= counted.active.current);
    REQUIRE(counted.allocated.current <= counted.active.current);
    REQUIRE(counted.active.current <= counted.reserved.current);
    for (const Level& level : {counted.requested, counted.allocated, counted.active, counted.reserved}) {
        REQUIRE(level.current >= 0);
        REQUIRE(level.peak >= level.current);
    }
}

void check_tiles(const SegmentView& segment) {
    std::int64_t at = segment.address;
    bool free_before = false;
    BlockState before = BlockState::allocated;
    for (const BlockView& block : segment.blocks) {
        REQUIRE(block.address == at);
        REQUIRE(block.size > 0);
        REQUIRE(block.size % 512 == 0);
        const bool is_free = block.state == BlockState::inactive || block.state == BlockState::unmapped;
        REQUIRE_FALSE((is_free && free_before && block.state == before));  // free neighbours are merged
        free_before = is_free;
        before = block.state;
        at += block.size;
    }
    REQUIRE(at == segment.address + segment.size);
}

void check_consistency(const CachingAllocator& allocator, std::int64_t capacity) {
    std::array<PoolStatistics, 3> sums;
    std::int64_t end = 0;
    for (const SegmentView& segment : allocator.snapshot()) {
        REQUIRE(segment.address >= end);  // segments are disjoint
        end = segment.address + segment.size;
        check_tiles(segment);
        add(sums[0], segment);
        add(sums[segment.small ? 1 : 2], segment);
    }
    for (std::size_t pool = 0; pool < sums.size(); ++pool) check_sums(allocator.statistics().pools[pool], sums[pool]);
    REQUIRE(allocator.statistics().all().reserved.current <= capacity);
}

/// One random trace under one configuration.
struct Trace {
    std::mt19937 random;
    CachingAllocator allocator;
    std::vector<BlockId> live;

    std::int64_t size() {
        switch (random() % 4) {
            case 0: return 1 + random() % 2000;
            case 1: return 1 + random() % (2 << 20);
            case 2: return 1 + random() % (30 << 20);
            default: return static_cast<std::int64_t>(1 + random() % 8) << 20;
        }
    }

    void step() {
        const auto choice = random() % 100;
        const auto stream = static_cast<std::int32_t>(random() % 3);
        if (choice < 50 || live.empty()) {
            const AllocationResult result = allocator.malloc(size(), stream);
            if (result.ok) live.push_back(result.block);
        } else if (choice < 90) {
            const std::size_t at = random() % live.size();
            allocator.free(live[at]);
            live[at] = live.back();
            live.pop_back();
        } else if (choice < 95) {
            allocator.record_stream(live[random() % live.size()], stream);
        } else if (choice < 98) {
            allocator.finish_stream(stream);
        } else if (choice < 99) {
            allocator.empty_cache();
        } else {
            allocator.reset_peaks();
        }
    }
};

}  // namespace

TEST_CASE("blocks and statistics agree after every event of random traces") {
    const char* confs[] = {"", "expandable_segments:True", "max_split_size_mb:21",
                           "garbage_collection_threshold:0.5,roundup_power2_divisions:4",
                           "expandable_segments:True,max_split_size_mb:32,large_segment_size_mb:12"};
    unsigned seed = 0;
    for (const char* conf : confs)
        for (const AddressRule addresses : {AddressRule::small_up_large_down, AddressRule::first_fit})
            for (const TieRule ties : {TieRule::address, TieRule::segment_creation, TieRule::block_creation}) {
                AllocatorOptions options{settings_from(conf), Bytes{256 * kMiB}, {}, {}, addresses, ties};
                if (seed % 2 == 0) options.memory_fraction = 0.75;
                Trace trace{std::mt19937(++seed), CachingAllocator(options), {}};
                INFO("seed " << seed << " " << conf);
                for (int step = 0; step < 600; ++step) {
                    trace.step();
                    check_consistency(trace.allocator, 256 * kMiB);
                }
                for (const BlockId block : trace.live) trace.allocator.free(block);
                trace.allocator.empty_cache();
                CHECK(trace.allocator.statistics().all().reserved.current == 0);
                CHECK(trace.allocator.snapshot().empty());
            }
}
