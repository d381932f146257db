// The replay: events to the allocator, its levels to windows and marks.
#include "vramfit/alloc/replay.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "alloc/warm_up.hpp"
#include "recurrence.hpp"
#include "vramfit/alloc/rounding.hpp"

namespace vramfit {

namespace {

void raise(Levels& highest, const Levels& levels) {
    highest.requested = std::max(highest.requested, levels.requested);
    highest.allocated = std::max(highest.allocated, levels.allocated);
    highest.active = std::max(highest.active, levels.active);
    highest.reserved = std::max(highest.reserved, levels.reserved);
    highest.managed = std::max(highest.managed, levels.managed);
}

// Where the events of window `index` end.
Instant end_of(const Program& program, std::size_t index) {
    return index + 1 < program.windows.size() ? program.windows[index + 1].first_event : program.events.size();
}

/// One replay under way.
class Replay {
  public:
    Replay(const Program& program, const ReplayOptions& options)
        : program_(program),
          settings_(options.settings),
          allocator_(options),
          statistics_(&allocator_.statistics()),
          recurrence_(program, options) {
        blocks_.assign(program.allocations.size(), kNoBlock);
        timeline_.windows.reserve(program.windows.size());
        timeline_.marks.reserve(program.marks.size());
    }

    Timeline run() {
        while (timeline_.windows.size() < program_.windows.size() && !timeline_.out_of_memory) {
            const std::size_t next = timeline_.windows.size();
            if (const auto repetition = recurrence_.at(next, allocator_, blocks_, next_mark()))
                repeat(*repetition);
            else
                run_window(next);
        }
        timeline_.end = now();
        timeline_.retries = statistics_->alloc_retries;
        return std::move(timeline_);
    }

  private:
    void run_window(std::size_t index) {
        allocator_.reset_peaks();
        managed_peak_ = managed_;
        const Instant begins = program_.windows[index].first_event;
        timeline_.windows.push_back(
            {program_.windows[index].phase, begins, begins, now(), {}, {}, begins, begins, begins, 0});
        WindowLevels& window = timeline_.windows.back();
        const std::int64_t retries = statistics_->alloc_retries;
        const Instant ends = end_of(program_, index);
        Instant at = begins;
        const bool last = index + 1 == program_.windows.size();
        while (!timeline_.out_of_memory) {
            while (next_mark_ < program_.marks.size() && program_.marks[next_mark_].before_event <= at &&
                   (at < ends || last))
                record_mark();
            if (at >= ends) break;
            const bool marked = next_mark_ < program_.marks.size();
            const Instant stop = marked ? std::clamp(program_.marks[next_mark_].before_event, at + 1, ends) : ends;
            at = run_events(window, at, stop);
        }
        window.ends = at;
        window.end = now();
        window.peak = peaks();
        window.retries = statistics_->alloc_retries - retries;
        raise(timeline_.peak, window.peak);
    }

    Instant next_mark() const {
        return next_mark_ < program_.marks.size() ? program_.marks[next_mark_].before_event
                                                  : std::numeric_limits<Instant>::max();
    }

    // The windows of a period again; what it left is left by its last repetition.
    void repeat(const allocator::Repetition& repetition) {
        const allocator::Span& period = repetition.period;
        for (std::size_t time = 1; time <= repetition.times; ++time) {
            for (std::size_t i = period.window; i < period.windows_end; ++i) {
                WindowLevels window = timeline_.windows[i];
                window.phase = program_.windows[timeline_.windows.size()].phase;
                for (Instant* at : {&window.begins, &window.ends, &window.requested_peak_at, &window.allocated_peak_at,
                                    &window.reserved_peak_at})
                    *at += time * period.events();
                timeline_.windows.push_back(window);
            }
        }
        const auto apart = static_cast<std::uint32_t>(repetition.times) * period.allocations();
        for (std::uint32_t id = period.allocation; id < period.allocations_end; ++id)
            blocks_[id + apart] = std::exchange(blocks_[id], kNoBlock);
    }

    // Returns the instant it came to: `stop`, or that of the request that failed.
    Instant run_events(WindowLevels& window, Instant at, Instant stop) {
        for (; at < stop; ++at) {
            const Event event = program_.events[at];
            switch (event.kind) {
                case EventKind::alloc:
                    if (!allocate(window, at, event.id)) return at;
                    break;
                case EventKind::free: allocator_.free(std::exchange(blocks_[event.id], kNoBlock)); break;
                case EventKind::empty_cache: allocator_.empty_cache(); break;
                case EventKind::managed_alloc:
                    managed_ += program_.allocations[event.id].bytes;
                    managed_peak_ = std::max(managed_peak_, managed_);
                    break;
                case EventKind::managed_free: managed_ -= program_.allocations[event.id].bytes; break;
                case EventKind::record_stream: allocator_.record_stream(blocks_[event.id], event.stream); break;
                case EventKind::stream_done: allocator_.finish_stream(event.stream, event.id); break;
                case EventKind::warm_up:
                    if (!warm_up(window, at, program_.warm_ups[event.id])) return at;
                    break;
            }
        }
        return at;
    }

    bool allocate(WindowLevels& window, Instant at, std::uint32_t id) {
        const PoolStatistics& all = statistics_->all();
        const std::int64_t requested = all.requested.peak;
        const std::int64_t allocated = all.allocated.peak;
        const std::int64_t reserved = all.reserved.peak;
        const std::int64_t bytes = program_.allocations[id].bytes;
        const AllocationResult result = allocator_.malloc(bytes, program_.allocations[id].stream);
        if (all.reserved.peak > reserved) window.reserved_peak_at = at + 1;
        if (!result.ok) {
            record_failure(at, bytes);
            return false;
        }
        blocks_[id] = result.block;
        if (all.requested.peak > requested) window.requested_peak_at = at + 1;
        if (all.allocated.peak > allocated) window.allocated_peak_at = at + 1;
        return true;
    }

    bool warm_up(WindowLevels& window, Instant at, const WarmUp& block) {
        const PoolStatistics& all = statistics_->all();
        const std::int64_t bytes = bytes_of(block, all);
        const std::int64_t reserved = all.reserved.peak;
        const AllocationResult result = allocator_.malloc(bytes);
        if (all.reserved.peak > reserved) window.reserved_peak_at = at + 1;
        if (!result.ok) record_failure(at, bytes);
        allocator_.free(result.block);
        return result.ok;
    }

    void record_failure(Instant at, std::int64_t bytes) {
        const bool countable = bytes < kLargestRequest;
        const std::int64_t rounded = countable ? round_size(bytes, settings_) : bytes;
        const std::int64_t segment = countable ? segment_size(rounded, settings_) : bytes;
        timeline_.out_of_memory = OutOfMemory{timeline_.windows.size() - 1, at, bytes, rounded, segment};
    }

    void record_mark() {
        const Mark& mark = program_.marks[next_mark_++];
        MarkLevels levels{mark.name, mark.before_event, now(), timeline_.peak};
        raise(levels.highest, peaks());
        timeline_.marks.push_back(std::move(levels));
    }

    Levels now() const {
        const PoolStatistics& all = statistics_->all();
        return {all.requested.current, all.allocated.current, all.active.current, all.reserved.current, managed_};
    }

    Levels peaks() const {
        const PoolStatistics& all = statistics_->all();
        return {all.requested.peak, all.allocated.peak, all.active.peak, all.reserved.peak, managed_peak_};
    }

    const Program& program_;
    const AllocatorSettings settings_;
    CachingAllocator allocator_;
    const AllocatorStatistics* statistics_;
    allocator::Recurrence recurrence_;
    std::vector<BlockId> blocks_;
    std::int64_t managed_ = 0;
    std::int64_t managed_peak_ = 0;
    std::size_t next_mark_ = 0;
    Timeline timeline_;
};

}  // namespace

Timeline replay(const Program& program, const ReplayOptions& options) { return Replay(program, options).run(); }

std::vector<RequestedWindow> requested_peaks(const Program& program) {
    std::vector<RequestedWindow> windows;
    windows.reserve(program.windows.size());
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < program.windows.size(); ++i) {
        const Instant begins = program.windows[i].first_event;
        const Instant ends = end_of(program, i);
        RequestedWindow window{sum, sum, sum, begins};
        for (Instant at = begins; at < ends; ++at) {
            const Event event = program.events[at];
            if (event.kind == EventKind::free) {
                sum -= program.allocations[event.id].bytes;
            } else if (event.kind == EventKind::alloc) {
                sum += program.allocations[event.id].bytes;
                if (sum > window.peak) {
                    window.peak = sum;
                    window.peak_at = at + 1;
                }
            }
        }
        window.end = sum;
        windows.push_back(window);
    }
    return windows;
}

std::int64_t most_requested(const Program& program) {
    std::int64_t most = 0;
    for (const RequestedWindow& window : requested_peaks(program)) most = std::max(most, window.peak);
    return most;
}

}  // namespace vramfit
