// What torch.cuda.memory_stats() counts.
#pragma once

#include <array>
#include <cstdint>

namespace vramfit {

/// A level with its highest value since the last reset (c10/core/CachingDeviceAllocator.h, Stat).
struct Level {
    std::int64_t current = 0;
    std::int64_t peak = 0;

    constexpr void add(std::int64_t amount) {
        current += amount;
        if (current > peak) peak = current;
    }
    constexpr void reset_peak() { peak = current; }

    friend bool operator==(const Level&, const Level&) = default;
};

/// The levels that exist for all blocks, for small ones and for large ones.
struct PoolStatistics {
    Level requested;             ///< requested_bytes
    Level allocated;             ///< allocated_bytes
    Level active;                ///< active_bytes
    Level reserved;              ///< reserved_bytes
    Level inactive_split;        ///< inactive_split_bytes
    Level allocation_count;      ///< allocation
    Level active_count;          ///< active
    Level segment_count;         ///< segment
    Level inactive_split_count;  ///< inactive_split

    friend bool operator==(const PoolStatistics&, const PoolStatistics&) = default;
};

struct AllocatorStatistics {
    std::array<PoolStatistics, 3> pools;  ///< all, small_pool, large_pool
    Level oversize_allocations;
    Level oversize_segments;
    std::int64_t alloc_retries = 0;
    std::int64_t ooms = 0;
    std::int64_t sync_all_streams = 0;
    std::int64_t device_allocs = 0;
    std::int64_t device_frees = 0;
    std::int64_t oom_rejections = 0;

    const PoolStatistics& all() const { return pools[0]; }
    const PoolStatistics& small_pool() const { return pools[1]; }
    const PoolStatistics& large_pool() const { return pools[2]; }

    friend bool operator==(const AllocatorStatistics&, const AllocatorStatistics&) = default;
};

/// torch.cuda.reset_peak_memory_stats(): every peak becomes the current value.
void reset_peaks(AllocatorStatistics& statistics);

}  // namespace vramfit
