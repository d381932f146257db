// How the caching allocator rounds a request, chooses its pool and sizes its segment.
#pragma once

#include <cstdint>

#include "vramfit/alloc/settings.hpp"

namespace vramfit {

// c10/cuda/CUDACachingAllocator.h (newer: c10/core/CachingDeviceAllocator.h), the same from 2.1 to 2.14.
inline constexpr std::int64_t kMinBlockSize = 512;
inline constexpr std::int64_t kSmallSize = kMiB;
inline constexpr std::int64_t kSmallBuffer = 2 * kMiB;
inline constexpr std::int64_t kMinLargeAlloc = 10 * kMiB;
inline constexpr std::int64_t kRoundLarge = 2 * kMiB;

/// Requests of this many bytes and more fail without a look (one_exa_bytes, CUDACachingAllocator.cpp).
inline constexpr std::int64_t kLargestRequest = std::int64_t{1} << 60;

/// The size of the block that serves a request of 1 <= `bytes` < kLargestRequest.
std::int64_t round_size(std::int64_t bytes, const AllocatorSettings& settings);

/// Whether a rounded size belongs to the pool of small blocks.
constexpr bool is_small(std::int64_t rounded) { return rounded <= kSmallSize; }

/// What the device is asked for when no cached block serves a rounded size; "Tried to allocate" in PyTorch's message.
std::int64_t segment_size(std::int64_t rounded, const AllocatorSettings& settings);

}  // namespace vramfit
