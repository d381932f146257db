// Finds the predicted request that an out of memory error can be about.
#include <algorithm>
#include <cmath>
#include <utility>

#include "vramfit/alloc/rounding.hpp"
#include "vramfit/alloc/walk.hpp"
#include "vramfit/snapshot/oom.hpp"

namespace vramfit {

namespace {

std::int64_t segment_of(std::int64_t bytes, const AllocatorSettings& settings) {
    if (bytes <= 0 || bytes >= kLargestRequest) return bytes;
    return segment_size(round_size(bytes, settings), settings);
}

/// What is printed as allocated beside a request can differ by blocks that are not split to the byte.
bool is_same_state(std::int64_t allocated, const PrintedSize& printed) {
    return std::abs(allocated - printed.bytes) <= printed.error + printed.bytes / 200;
}

class OomSearch {
  public:
    OomSearch(const OomMessage& message, const Program& program, const AllocatorOptions& options, std::int64_t batch,
              std::int64_t tokens)
        : program_(program), options_(options), batch_(batch), tokens_(tokens) {
        out_.message = message;
    }

    OomExplanation run() {
        walk(program_, options_, [this](const WalkedEvent& walked) { see(walked); });
        if (out_.nearest) out_.same_state = is_same_state(out_.nearest->allocated, out_.message.allocated);
        if (out_.nearest) out_.scaled.reset();
        return std::move(out_);
    }

  private:
    void see(const WalkedEvent& walked) {
        while (window_ + 1 < program_.windows.size() && program_.windows[window_ + 1].first_event <= walked.number)
            ++window_;
        const PoolStatistics& all = walked.allocator->statistics().all();
        const EventLevels before = std::exchange(levels_, {all.allocated.current, all.reserved.current});
        out_.allocated_peak = std::max(out_.allocated_peak, levels_.allocated);
        out_.reserved_peak = std::max(out_.reserved_peak, levels_.reserved);
        const Event event = program_.events[walked.number];
        if (event.kind != EventKind::alloc) return;
        const std::int64_t bytes = program_.allocations[event.id].bytes;
        const std::int64_t segment = segment_of(bytes, options_.settings);
        if (out_.message.tried.holds(segment)) {
            ++out_.same_size;
            keep(out_.nearest, event.id, segment, before);
        } else if (const std::int64_t tokens = tokens_of(bytes); tokens > 0) {
            // The largest tensor is the likeliest: one for each token and many bytes.
            if (!out_.scaled || bytes > out_.scaled->what.bytes) {
                out_.scaled = request(event.id, segment, before);
                out_.scaled_tokens = tokens;
            }
        }
    }

    /// How many tokens a row has in which an allocation that grows with them is as large as the error says; 0: none.
    std::int64_t tokens_of(std::int64_t bytes) const {
        const std::int64_t all = batch_ * tokens_;
        if (bytes < kMinLargeAlloc || all <= 0 || bytes % all != 0) return 0;
        const double each = static_cast<double>(bytes / all) * static_cast<double>(batch_);
        const auto tokens =
            static_cast<std::int64_t>(std::llround(static_cast<double>(out_.message.tried.bytes) / each));
        if (tokens <= 0 || tokens == tokens_ || tokens > 64 * tokens_) return 0;
        const auto wanted = static_cast<std::int64_t>(each * static_cast<double>(tokens));
        return out_.message.tried.holds(segment_of(wanted, options_.settings)) ? tokens : 0;
    }

    OomRequest request(std::uint32_t id, std::int64_t segment, const EventLevels& before) const {
        const Allocation& a = program_.allocations[id];
        return {name_of(program_.windows[window_].phase),
                {a.bytes, a.op < program_.ops.size() ? program_.ops[a.op] : "", module_of(program_, a), a.category},
                segment,
                before.allocated,
                before.reserved};
    }

    void keep(std::optional<OomRequest>& best, std::uint32_t id, std::int64_t segment,
              const EventLevels& before) const {
        const auto apart = [this](std::int64_t allocated) {
            return std::abs(allocated - out_.message.allocated.bytes);
        };
        if (!best || apart(before.allocated) < apart(best->allocated)) best = request(id, segment, before);
    }

    const Program& program_;
    const AllocatorOptions& options_;
    std::int64_t batch_;
    std::int64_t tokens_;
    std::size_t window_ = 0;
    EventLevels levels_;
    OomExplanation out_;
};

}  // namespace

OomExplanation explain_oom(const OomMessage& message, const Program& program, const AllocatorOptions& options,
                           std::int64_t batch, std::int64_t tokens) {
    return OomSearch(message, program, options, batch, tokens).run();
}

}  // namespace vramfit
