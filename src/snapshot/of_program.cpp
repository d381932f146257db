// The snapshot that torch would dump at the end of a predicted run.
#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "vramfit/alloc/rounding.hpp"
#include "vramfit/alloc/walk.hpp"
#include "vramfit/snapshot/snapshot.hpp"

namespace vramfit {

namespace {

/// Addresses of the model as numbers below 2^53, which JavaScript keeps exact; their order stays.
std::int64_t shown_address(std::int64_t address) {
    constexpr std::int64_t kUp = std::int64_t{1} << 61, kDown = std::int64_t{1} << 62;  // device_memory.cpp
    constexpr std::int64_t kMiddle = kUp + kUp / 2;
    if (address >= kMiddle) return address - kDown + (std::int64_t{7} << 50);
    if (address >= kUp) return address - kUp + (std::int64_t{1} << 52);
    return address;
}

/// A stretch of device memory that the allocator holds.
struct Held {
    std::int64_t address = 0;
    std::int64_t size = 0;
    std::int64_t stream = 0;
    bool expandable = false;

    friend bool operator==(const Held&, const Held&) = default;
    friend bool operator<(const Held& a, const Held& b) { return a.address < b.address; }
};

/// Segments of an allocator as torch shows them: of an expandable one each mapped stretch.
std::vector<SnapshotSegment> shown_segments(const CachingAllocator& allocator) {
    std::vector<SnapshotSegment> out;
    for (const SegmentView& view : allocator.snapshot()) {
        const SnapshotSegment empty{0, 0, view.stream, view.small, view.expandable, {}};
        bool open = false;
        for (const BlockView& block : view.blocks) {
            if (block.state == BlockState::unmapped) {
                open = false;
                continue;
            }
            if (!open) {
                out.push_back(empty);
                out.back().address = shown_address(block.address);
                open = true;
            }
            out.back().size += block.size;
            out.back().blocks.push_back({shown_address(block.address), block.size, block.requested, block.state, 0});
        }
    }
    std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.address < b.address; });
    return out;
}

std::vector<Held> held_by(const std::vector<SnapshotSegment>& segments) {
    std::vector<Held> out;
    for (const SnapshotSegment& s : segments) out.push_back({s.address, s.size, s.stream, s.expandable});
    return out;
}

/// What is in `more` and not in `less`: whole segments, and pieces of expandable ones.
std::vector<Held> without(const std::vector<Held>& more, const std::vector<Held>& less) {
    std::vector<Held> out;
    for (const Held& held : more) {
        if (!held.expandable) {
            if (!std::binary_search(less.begin(), less.end(), held)) out.push_back(held);
            continue;
        }
        std::int64_t at = held.address;
        const std::int64_t end = held.address + held.size;
        for (const Held& other : less) {
            if (other.address + other.size <= at || other.address >= end) continue;
            if (other.address > at) out.push_back({at, other.address - at, held.stream, true});
            at = other.address + other.size;
        }
        if (at < end) out.push_back({at, end - at, held.stream, true});
    }
    return out;
}

class SnapshotWalk {
  public:
    SnapshotWalk(const Program& program, const AllocatorOptions& options) : program_(program), options_(options) {}

    Snapshot run() {
        walk(program_, options_, [this](const WalkedEvent& walked) { see(walked); });
        for (SnapshotSegment& segment : out_.segments)
            for (SnapshotBlock& block : segment.blocks)
                if (const auto live = live_.find(block.address); live != live_.end()) block.stack = live->second.stack;
        return std::move(out_);
    }

  private:
    void add(SnapshotAction action, std::int64_t address, std::int64_t size, std::int64_t stream, std::uint32_t stack) {
        out_.entries.push_back({action, address, size, stream, stack, Category::unattributed});
    }

    /// Operator, module and window, as frames from the innermost out.
    std::uint32_t stack_of(const Allocation& allocation) {
        const std::array<std::size_t, 4> key = {allocation.op, allocation.module,
                                                static_cast<std::size_t>(allocation.layer + 1), window_};
        const auto [known, fresh] = stacks_.try_emplace(key, static_cast<std::uint32_t>(out_.stacks.size()));
        if (!fresh) return known->second;
        std::vector<StackFrame>& frames = out_.stacks.emplace_back();
        if (allocation.op < program_.ops.size()) frames.push_back({"operator", program_.ops[allocation.op], 0});
        if (std::string module = module_of(program_, allocation); !module.empty())
            frames.push_back({"module", std::move(module), 0});
        frames.push_back({"window", name_of(program_.windows[window_].phase), 0});
        return known->second;
    }

    void see(const WalkedEvent& walked) {
        while (window_ + 1 < program_.windows.size() && program_.windows[window_ + 1].first_event <= walked.number)
            ++window_;
        const Event event = program_.events[walked.number];
        if (event.kind == EventKind::free) {
            if (walked.block != kNoBlock) see_free(walked);
        } else {
            see_device(*walked.allocator);
            see_waiting();
            if (event.kind == EventKind::alloc) see_alloc(walked, program_.allocations[event.id]);
        }
        if (walked.number + 1 == program_.events.size() || !walked.served)
            out_.segments = shown_segments(*walked.allocator);
    }

    void see_alloc(const WalkedEvent& walked, const Allocation& allocation) {
        if (walked.served && walked.block == kNoBlock) return;  // no bytes
        if (walked.served) {
            const std::int64_t address = shown_address(walked.address);
            out_.entries.push_back({SnapshotAction::alloc, address, allocation.bytes, allocation.stream,
                                    stack_of(allocation), allocation.category});
            live_[address] = out_.entries.back();
            return;
        }
        const std::int64_t segment =
            allocation.bytes < kLargestRequest
                ? segment_size(round_size(allocation.bytes, options_.settings), options_.settings)
                : allocation.bytes;
        const std::int64_t reserved = walked.allocator->statistics().all().reserved.current;
        const std::int64_t left = options_.capacity ? options_.capacity->count - reserved : 0;
        add(SnapshotAction::oom, std::max<std::int64_t>(left, 0), segment, 0, stack_of(allocation));
    }

    void see_free(const WalkedEvent& walked) {
        const auto live = live_.find(shown_address(walked.address));
        if (live == live_.end()) return;
        SnapshotEntry entry = live->second;
        live_.erase(live);
        entry.category = Category::unattributed;
        entry.action = SnapshotAction::free_requested;
        out_.entries.push_back(entry);
        const PoolStatistics& all = walked.allocator->statistics().all();
        if (all.active.current - all.allocated.current == pending_) {
            entry.action = SnapshotAction::free_completed;
            out_.entries.push_back(entry);
        } else {
            waiting_.push_back(entry);
            pending_ = all.active.current - all.allocated.current;
        }
    }

    /// Blocks that waited for another stream and are free now.
    void see_waiting() {
        if (waiting_.empty()) return;
        const auto pending = [this](const SnapshotEntry& entry) {
            for (const SnapshotSegment& segment : out_.segments)
                for (const SnapshotBlock& block : segment.blocks)
                    if (block.address == entry.address) return block.state == BlockState::pending_free;
            return false;
        };
        std::erase_if(waiting_, [&](SnapshotEntry& entry) {
            if (pending(entry)) return false;
            entry.action = SnapshotAction::free_completed;
            out_.entries.push_back(entry);
            return true;
        });
    }

    /// What the allocator took from the device and gave back to it since the last event.
    void see_device(const CachingAllocator& allocator) {
        const AllocatorStatistics& s = allocator.statistics();
        const std::int64_t pending = s.all().active.current - s.all().allocated.current;
        const std::array<std::int64_t, 3> counts = {s.all().reserved.current, s.device_allocs, s.device_frees};
        const bool waits = !waiting_.empty() && pending != pending_;
        if (counts == counts_ && !waits) return;
        counts_ = counts;
        if (waits) pending_ = pending;
        out_.segments = shown_segments(allocator);
        std::vector<Held> now = held_by(out_.segments);
        for (const Held& gone : without(held_, now))
            add(gone.expandable ? SnapshotAction::segment_unmap : SnapshotAction::segment_free, gone.address, gone.size,
                gone.stream, 0);
        for (const Held& fresh : without(now, held_))
            add(fresh.expandable ? SnapshotAction::segment_map : SnapshotAction::segment_alloc, fresh.address,
                fresh.size, fresh.stream, 0);
        held_ = std::move(now);
    }

    const Program& program_;
    const AllocatorOptions& options_;
    Snapshot out_;
    std::size_t window_ = 0;
    std::map<std::array<std::size_t, 4>, std::uint32_t> stacks_;
    std::map<std::int64_t, SnapshotEntry> live_;  ///< by address
    std::vector<SnapshotEntry> waiting_;          ///< freed, but in use on another stream
    std::int64_t pending_ = 0;                    ///< bytes of these, with their rounding
    std::array<std::int64_t, 3> counts_{};
    std::vector<Held> held_;
};

}  // namespace

Snapshot snapshot_of(const Program& program, const AllocatorOptions& options) {
    return SnapshotWalk(program, options).run();
}

}  // namespace vramfit
