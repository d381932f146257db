// Peaks set back to the current values.
#include "vramfit/alloc/statistics.hpp"

namespace vramfit {

// c10/cuda/CUDACachingAllocator.cpp, resetPeakStats (2.6.0).
void reset_peaks(AllocatorStatistics& statistics) {
    for (PoolStatistics& pool : statistics.pools)
        for (Level* level :
             {&pool.requested, &pool.allocated, &pool.active, &pool.reserved, &pool.inactive_split,
              &pool.allocation_count, &pool.active_count, &pool.segment_count, &pool.inactive_split_count})
            level->reset_peak();
    statistics.oversize_allocations.reset_peak();
    statistics.oversize_segments.reset_peak();
}

}  // namespace vramfit
