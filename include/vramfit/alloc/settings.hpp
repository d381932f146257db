// The settings of PyTorch's caching allocator, as PYTORCH_CUDA_ALLOC_CONF writes them.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string_view>

#include "vramfit/base/bytes.hpp"

namespace vramfit {

inline constexpr std::int64_t kNoSplitLimit = std::numeric_limits<std::int64_t>::max();

/// What decides about memory; the defaults are PyTorch's (c10/cuda/CUDAAllocatorConfig.h, 2.6;
/// c10/core/AllocatorConfig.h later).
struct AllocatorSettings {
    std::int64_t max_split_size = kNoSplitLimit;       ///< blocks of this size and larger are never split
    std::int64_t max_non_split_rounding = 20 * kMiB;   ///< how much larger such a block may be than its request
    std::int64_t large_segment_size = 20 * kMiB;       ///< kLargeBuffer
    std::array<std::int64_t, 16> roundup_divisions{};  ///< by floor(log2(size)) - 20, clamped; 0 and 1 mean off
    double garbage_collection_threshold = 0.0;         ///< 0: off; acts only under a memory fraction
    bool expandable_segments = false;
    double memory_fraction = 1.0;      ///< per_process_memory_fraction; 1: no limit
    bool throw_on_device_oom = false;  ///< throw_on_cudamalloc_oom

    friend bool operator==(const AllocatorSettings&, const AllocatorSettings&) = default;
};

/// Which keys a version of torch knows; the defaults are those of the newest.
struct SettingsDialect {
    bool max_non_split_rounding = true;  ///< since 2.6
    bool memory_fraction = true;         ///< since 2.10
    bool large_segment_size = true;      ///< since 2.11; then parsing also resets max_non_split_rounding_mb
    bool throw_on_device_oom = true;     ///< since 2.12
};

/// Reads "key:value,key:value". As in PyTorch, `before` lends what a new text does not reset. Throws Error with every
/// problem of the text; `where` names the place in its messages.
AllocatorSettings settings_from(std::string_view text, const AllocatorSettings& before = {},
                                const SettingsDialect& dialect = {},
                                std::string_view where = "PYTORCH_CUDA_ALLOC_CONF");

}  // namespace vramfit
