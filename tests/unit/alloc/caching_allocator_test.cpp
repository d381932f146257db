// Rules of the allocator that the recorded vectors do not reach.
#include "vramfit/alloc/caching_allocator.hpp"

#include <cstdint>

#include "support/catch.hpp"

using namespace vramfit;

namespace {

AllocatorOptions with(const char* conf, std::int64_t capacity) {
    AllocatorOptions options;
    options.settings = settings_from(conf);
    options.capacity = Bytes{capacity};
    return options;
}

std::int64_t address_of_live(const CachingAllocator& allocator, std::int64_t size) {
    for (const SegmentView& segment : allocator.snapshot())
        for (const BlockView& block : segment.blocks)
            if (block.state == BlockState::allocated && block.size == size) return block.address;
    return -1;
}

}  // namespace

TEST_CASE("requests that never reach the free lists") {
    CachingAllocator allocator;
    const AllocationResult nothing = allocator.malloc(0);
    CHECK(nothing.ok);
    CHECK(nothing.block == kNoBlock);
    allocator.free(nothing.block);
    CHECK_FALSE(allocator.malloc(std::int64_t{1} << 60).ok);
    CHECK_FALSE(allocator.malloc(INT64_MAX).ok);
    CHECK(allocator.statistics() == AllocatorStatistics{});
    CHECK(allocator.snapshot().empty());
}

TEST_CASE("an allocator is a value") {
    CachingAllocator allocator;
    const BlockId block = allocator.malloc(100).block;
    CachingAllocator copy = allocator;
    copy.free(block);
    CHECK(copy.statistics().all().allocated.current == 0);
    CHECK(allocator.statistics().all().allocated.current == 512);
    allocator = copy;
    CHECK(allocator.statistics() == copy.statistics());
}

TEST_CASE("which of two equal free blocks is taken") {
    // Two blocks of 2 MiB lie in two segments, the earlier one at the higher address.
    const auto taken = [](TieRule ties) {
        AllocatorOptions options;
        options.ties = ties;
        CachingAllocator allocator(options);
        const BlockId first = allocator.malloc(12 * kMiB).block;
        const BlockId second = allocator.malloc(12 * kMiB).block;
        const SegmentView lower = allocator.snapshot().front();
        allocator.free(second);
        allocator.free(first);
        allocator.malloc(12 * kMiB);
        return address_of_live(allocator, 12 * kMiB) == lower.address ? "second" : "first";
    };
    CHECK(taken(TieRule::address) == std::string("second"));
    CHECK(taken(TieRule::segment_creation) == std::string("first"));
    CHECK(taken(TieRule::block_creation) == std::string("first"));
}

TEST_CASE("a fraction in the settings is a limit below 1 only; one that is set by call also at 1") {
    AllocatorOptions options = with("per_process_memory_fraction:0.5", 100 * kMiB);
    CHECK_FALSE(CachingAllocator(options).malloc(60 * kMiB).ok);
    options = with("", 100 * kMiB);
    options.device_total = Bytes{80 * kMiB};
    CHECK(CachingAllocator(options).malloc(90 * kMiB).ok);
    options.memory_fraction = 1.0;
    CHECK_FALSE(CachingAllocator(options).malloc(90 * kMiB).ok);
}

TEST_CASE("throw_on_cudamalloc_oom refuses before anything is released") {
    CachingAllocator allocator(with("throw_on_cudamalloc_oom:True", 100 * kMiB));
    allocator.free(allocator.malloc(60 * kMiB).block);
    CHECK_FALSE(allocator.malloc(80 * kMiB).ok);
    CHECK(allocator.statistics().oom_rejections == 1);
    CHECK(allocator.statistics().alloc_retries == 0);
    CHECK(allocator.statistics().all().reserved.current == 60 * kMiB);
}

TEST_CASE("max_split_size: oversize blocks are counted, and released before everything else") {
    CachingAllocator allocator(with("max_split_size_mb:32", 200 * kMiB));
    const BlockId a = allocator.malloc(40 * kMiB).block;
    const BlockId b = allocator.malloc(60 * kMiB).block;
    const BlockId small = allocator.malloc(1).block;
    CHECK(allocator.statistics().oversize_allocations.current == 2);
    CHECK(allocator.statistics().oversize_segments.current == 2);
    allocator.free(a);
    allocator.free(b);
    allocator.free(small);
    CHECK(allocator.malloc(100 * kMiB).ok);
    CHECK(allocator.statistics().oversize_segments.current == 1);
    CHECK(allocator.statistics().oversize_segments.peak == 2);
    CHECK(allocator.statistics().small_pool().reserved.current == 2 * kMiB);
    CHECK(allocator.statistics().alloc_retries == 0);
}

TEST_CASE("a split block above a changed max_split_size stays") {
    CachingAllocator allocator(with("", 100 * kMiB));
    const BlockId whole = allocator.malloc(80 * kMiB).block;
    allocator.free(whole);
    const BlockId part = allocator.malloc(20 * kMiB).block;
    allocator.change_settings(settings_from("max_split_size_mb:32"));
    CHECK_FALSE(allocator.malloc(90 * kMiB).ok);
    CHECK(allocator.statistics().all().reserved.current == 80 * kMiB);
    allocator.free(part);
    CHECK(allocator.malloc(90 * kMiB).ok);
}

TEST_CASE("a block waits for every stream that used it") {
    CachingAllocator allocator;
    const BlockId block = allocator.malloc(2 * kMiB, 1).block;
    for (const int stream : {1, 2, 3, 2}) allocator.record_stream(block, stream);
    allocator.free(block);
    CHECK(allocator.snapshot().front().blocks.front().state == BlockState::pending_free);
    CHECK(allocator.statistics().all().allocated.current == 0);
    allocator.finish_stream(2);
    allocator.malloc(1);
    CHECK(allocator.statistics().large_pool().active.current == 2 * kMiB);
    allocator.finish_stream(3);
    allocator.malloc(1);
    CHECK(allocator.statistics().large_pool().active.current == 0);
}

TEST_CASE("expandable segments without a card") {
    AllocatorOptions options;
    options.settings.expandable_segments = true;
    CachingAllocator allocator(options);
    for (int round = 0; round < 100; ++round) {
        const AllocationResult large = allocator.malloc(50 * kMiB);
        const AllocationResult small = allocator.malloc(5);
        REQUIRE(large.ok);
        REQUIRE(small.ok);
        CHECK(allocator.statistics().all().reserved.current == 62 * kMiB);
        allocator.free(large.block);
        allocator.free(small.block);
        allocator.empty_cache();
        CHECK(allocator.snapshot().empty());
    }
    CHECK_FALSE(allocator.malloc(std::int64_t{1} << 59).ok);
}
