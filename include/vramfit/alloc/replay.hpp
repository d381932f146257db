// Replays a recorded program through the caching allocator: the levels of memory in every window.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "vramfit/alloc/caching_allocator.hpp"
#include "vramfit/trace/program.hpp"

namespace vramfit {

/// The allocator that a program is replayed through.
using ReplayOptions = AllocatorOptions;

/// Bytes at an instant, or the highest of each in a span: these need not be simultaneous.
struct Levels {
    std::int64_t requested = 0;  ///< what tensors ask for
    std::int64_t allocated = 0;  ///< blocks in use
    std::int64_t active = 0;     ///< blocks in use or waiting for another stream
    std::int64_t reserved = 0;   ///< taken from the device
    std::int64_t managed = 0;    ///< CUDA managed memory, in none of the others

    friend bool operator==(const Levels&, const Levels&) = default;
};

/// An instant of a program: the number of events that came before it, as Mark::before_event. An allocation at event i
/// has its effect at the instant i + 1.
using Instant = std::size_t;

/// One window of the program. `start` is the `end` of the window before.
struct WindowLevels {
    Phase phase;
    Instant begins = 0;
    Instant ends = 0;
    Levels start;
    Levels peak;
    Levels end;
    Instant requested_peak_at = 0;  ///< the first instant of the window at which the peak is reached
    Instant allocated_peak_at = 0;
    Instant reserved_peak_at = 0;
    std::int64_t retries = 0;  ///< times the allocator gave its free segments back and asked again
};

struct MarkLevels {
    std::string name;
    Instant at = 0;
    Levels now;
    Levels highest;  ///< so far
};

/// The request that could not be served.
struct OutOfMemory {
    std::size_t window = 0;
    std::size_t event = 0;
    std::int64_t requested = 0;  ///< bytes of the allocation
    std::int64_t rounded = 0;    ///< as the allocator rounds them
    std::int64_t segment = 0;    ///< what it asked the device for: "Tried to allocate"
};

/// Contiguous windows. After an out of memory the last window is the one of the request and ends at it; later windows
/// and marks are missing.
struct Timeline {
    std::vector<WindowLevels> windows;
    std::vector<MarkLevels> marks;
    Levels peak;  ///< of all windows
    Levels end;
    std::int64_t retries = 0;
    std::optional<OutOfMemory> out_of_memory;
};

/// The program must pass check().
Timeline replay(const Program& program, const ReplayOptions& options = {});

/// Requested bytes of one window.
struct RequestedWindow {
    std::int64_t start = 0;
    std::int64_t peak = 0;
    std::int64_t end = 0;
    Instant peak_at = 0;
};

/// Only what tensors ask for, for every window, without an allocator.
std::vector<RequestedWindow> requested_peaks(const Program& program);

/// The highest of them.
std::int64_t most_requested(const Program& program);

}  // namespace vramfit
