// Micro batches that find the allocator as earlier ones found it need no replay: they would do the same again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "vramfit/alloc/replay.hpp"

namespace vramfit::allocator {

/// A span of windows with the events and the allocations in it.
struct Span {
    std::size_t window = 0, windows_end = 0;
    Instant event = 0, events_end = 0;
    std::uint32_t allocation = 0, allocations_end = 0;  ///< ids are in order of their alloc events

    std::size_t windows() const { return windows_end - window; }
    std::size_t events() const { return events_end - event; }
    std::uint32_t allocations() const { return allocations_end - allocation; }
};

/// What comes next does what `period`, which was replayed just before, did, `times` over. The allocator ends as it is
/// now, and every level and instant of the windows follows from those of the period.
struct Repetition {
    Span period;
    std::size_t times = 0;
};

/// Looks at a replay where micro batches of gradient accumulation begin. Nothing is assumed about them: states of the
/// allocator are compared block by block, and programs event by event.
class Recurrence {
  public:
    Recurrence(const Program& program, const ReplayOptions& options);

    /// Before window `index` is replayed. `blocks`: of every allocation, kNoBlock where it has none; `next_mark`: the
    /// instant of the first mark that is still to come.
    std::optional<Repetition> at(std::size_t index, const CachingAllocator& allocator,
                                 const std::vector<BlockId>& blocks, Instant next_mark);

  private:
    /// A place where a micro batch begins, as the replay came by.
    struct Seen {
        std::size_t micro = 0;  ///< index into `micros_`
        std::vector<SegmentView> segments;
        std::int64_t device_calls = 0;
        std::vector<std::int64_t> freed_from_before;  ///< addresses that it frees but did not allocate, in order
    };

    Seen look(std::size_t micro, const CachingAllocator& allocator, const std::vector<BlockId>& blocks) const;
    std::size_t repeats(const Seen& then, const Seen& now, Instant next_mark) const;
    /// Which allocations of two micro batches correspond: from `from` on those that are as far apart as the micro
    /// batches are, before it those in the same place of `freed_from_before`, if these have been compared.
    struct Known {
        std::uint32_t from = 0;
        bool compared_before = false;
    };

    bool same_program(std::size_t micro, std::size_t earlier, Known known) const;
    bool is_plain(const Span& micro) const;
    bool same_step(std::size_t micro, std::size_t other) const;

    const Program& program_;
    std::vector<Span> micros_;  ///< all but the first and the last of each step
    std::size_t next_ = 0;      ///< the micro batch that is waited for
    std::deque<Seen> seen_;     ///< the last few of this step
};

}  // namespace vramfit::allocator
