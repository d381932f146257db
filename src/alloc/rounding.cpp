// Rounding of requests and sizes of segments.
#include "vramfit/alloc/rounding.hpp"

#include <algorithm>
#include <bit>

#include "vramfit/base/checked.hpp"

namespace vramfit {

// DeviceCachingAllocator::round_size and roundup_power2_next_division, c10/cuda/CUDACachingAllocator.cpp (2.6.0);
// the slot is CUDAAllocatorConfig::roundup_power2_divisions(size).
std::int64_t round_size(std::int64_t bytes, const AllocatorSettings& settings) {
    if (bytes < kMinBlockSize) return kMinBlockSize;
    const int log2 = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(bytes))) - 1;
    const std::int64_t divisions = settings.roundup_divisions[static_cast<std::size_t>(std::clamp(log2 - 20, 0, 15))];
    // divisions > bytes / 512 rather than bytes < 512 * divisions: no overflow
    if (divisions <= 1 || divisions > (bytes - 1) / kMinBlockSize) return round_up(bytes, kMinBlockSize);
    const std::int64_t power = std::int64_t{1} << log2;
    if (bytes == power) return bytes;
    return round_up(bytes, power / divisions);
}

// DeviceCachingAllocator::get_allocation_size (2.6.0).
std::int64_t segment_size(std::int64_t rounded, const AllocatorSettings& settings) {
    if (is_small(rounded)) return kSmallBuffer;
    if (rounded < kMinLargeAlloc) return settings.large_segment_size;
    return round_up(rounded, kRoundLarge);
}

}  // namespace vramfit
