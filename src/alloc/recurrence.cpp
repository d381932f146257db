// Comparing micro batches: what the allocator looks like where they begin, and what they ask of it.
#include "recurrence.hpp"

#include <algorithm>
#include <utility>

namespace vramfit::allocator {

namespace {

/// Micro batches that are looked back at: losses take turns in two places, so that two make a period.
constexpr std::size_t kLongestPeriod = 4;

std::vector<std::size_t> windows_that_begin_micros(const Program& program) {
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < program.windows.size(); ++i) {
        const Phase& phase = program.windows[i].phase;
        if (phase.micro < 1) continue;
        if (program.windows[i - 1].phase.micro != phase.micro) out.push_back(i);
    }
    return out;
}

/// An allocator that numbers blocks or counts calls never finds itself as it was.
bool can_recur(const ReplayOptions& options) {
    return options.ties != TieRule::block_creation && options.settings.garbage_collection_threshold <= 0.0;
}

std::int64_t device_calls(const AllocatorStatistics& statistics) {
    return statistics.device_allocs + statistics.device_frees + statistics.alloc_retries + statistics.sync_all_streams;
}

}  // namespace

Recurrence::Recurrence(const Program& program, const ReplayOptions& options) : program_(program) {
    if (!can_recur(options)) return;
    const std::vector<std::size_t> begins = windows_that_begin_micros(program);
    std::uint32_t allocations = 0;
    Instant counted = 0;
    const auto allocations_before = [&](Instant event) {
        for (; counted < event; ++counted) {
            const EventKind kind = program.events[counted].kind;
            if (kind == EventKind::alloc || kind == EventKind::managed_alloc) ++allocations;
        }
        return allocations;
    };
    for (std::size_t i = 0; i + 1 < begins.size(); ++i) {
        const Window& first = program.windows[begins[i]];
        const Window& behind = program.windows[begins[i + 1]];
        if (behind.phase.step != first.phase.step) continue;
        Span span{begins[i], begins[i + 1], first.first_event, behind.first_event, 0, 0};
        span.allocation = allocations_before(span.event);
        span.allocations_end = allocations_before(span.events_end);
        micros_.push_back(span);
    }
}

std::optional<Repetition> Recurrence::at(std::size_t index, const CachingAllocator& allocator,
                                         const std::vector<BlockId>& blocks, Instant next_mark) {
    while (next_ < micros_.size() && micros_[next_].window < index) ++next_;
    if (next_ == micros_.size() || micros_[next_].window != index) return std::nullopt;
    if (!seen_.empty() && !same_step(seen_.back().micro, next_)) seen_.clear();
    const bool last = next_ + 1 == micros_.size() || !same_step(next_ + 1, next_);
    if (last && seen_.empty()) return std::nullopt;
    Seen now = look(next_, allocator, blocks);
    for (auto then = seen_.rbegin(); then != seen_.rend(); ++then) {
        const std::size_t times = repeats(*then, now, next_mark);
        if (times == 0) continue;
        const Span &first = micros_[then->micro], &end = micros_[now.micro];
        seen_.clear();
        return Repetition{{first.window, end.window, first.event, end.event, first.allocation, end.allocation}, times};
    }
    seen_.push_back(std::move(now));
    if (seen_.size() > kLongestPeriod) seen_.pop_front();
    return std::nullopt;
}

Recurrence::Seen Recurrence::look(std::size_t micro, const CachingAllocator& allocator,
                                  const std::vector<BlockId>& blocks) const {
    Seen seen{micro, allocator.snapshot(), device_calls(allocator.statistics()), {}};
    for (Instant at = micros_[micro].event; at < micros_[micro].events_end; ++at) {
        const Event event = program_.events[at];
        if (event.kind == EventKind::free && event.id < micros_[micro].allocation)
            seen.freed_from_before.push_back(allocator.address_of(blocks[event.id]));
    }
    return seen;
}

/// How often the micro batches from `then` up to `now` come again.
std::size_t Recurrence::repeats(const Seen& then, const Seen& now, Instant next_mark) const {
    if (then.device_calls != now.device_calls || then.freed_from_before != now.freed_from_before) return 0;
    if (then.segments != now.segments) return 0;
    const std::size_t period = now.micro - then.micro;
    for (std::size_t i = then.micro; i < now.micro; ++i)
        if (!is_plain(micros_[i])) return 0;
    std::size_t end = now.micro;
    const auto again = [&](std::size_t micro) {
        return same_step(micro, now.micro) && micros_[micro].events_end <= next_mark &&
               same_program(micro, micro - period, {micros_[then.micro].allocation, micro == now.micro});
    };
    while (end < micros_.size() && again(end)) ++end;
    return (end - now.micro) / period;
}

bool Recurrence::same_step(std::size_t micro, std::size_t other) const {
    return program_.windows[micros_[micro].window].phase.step == program_.windows[micros_[other].window].phase.step;
}

/// Nothing but allocations and frees: all else is not seen in what the allocator looks like.
bool Recurrence::is_plain(const Span& micro) const {
    return std::all_of(program_.events.begin() + static_cast<std::ptrdiff_t>(micro.event),
                       program_.events.begin() + static_cast<std::ptrdiff_t>(micro.events_end), [](const Event& event) {
                           return event.kind == EventKind::alloc || event.kind == EventKind::free;
                       });
}

/// Whether a micro batch asks for what an earlier one did.
bool Recurrence::same_program(std::size_t micro, std::size_t earlier, Known known) const {
    const Span &a = micros_[micro], &b = micros_[earlier];
    if (a.windows() != b.windows() || a.events() != b.events() || a.allocations() != b.allocations()) return false;
    for (std::size_t i = 0; i < a.windows(); ++i) {
        const Window &x = program_.windows[a.window + i], &y = program_.windows[b.window + i];
        if (x.phase.kind != y.phase.kind || x.phase.layer != y.phase.layer) return false;
        if (x.first_event - a.event != y.first_event - b.event) return false;
    }
    const std::uint32_t apart = a.allocation - b.allocation;
    for (std::size_t i = 0; i < a.events(); ++i) {
        const Event x = program_.events[a.event + i], y = program_.events[b.event + i];
        if (x.kind != y.kind) return false;
        const bool corresponds =
            y.id >= known.from ? x.id - y.id == apart : known.compared_before && x.id < a.allocation;
        if (!corresponds) return false;
        if (x.kind != EventKind::alloc) continue;
        const Allocation &p = program_.allocations[x.id], &q = program_.allocations[y.id];
        if (p.bytes != q.bytes || p.stream != q.stream) return false;
    }
    return true;
}

}  // namespace vramfit::allocator
