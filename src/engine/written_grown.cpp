// Stretches of the program that come again with sizes that grow by the same from each to the next.
#include "engine/recorder.hpp"

namespace vramfit::engine {

bool Recorder::grow_alike(const Stretch& first, const Stretch& second, const Stretch& third) const {
    if (!keeps_program()) return true;
    if (keeps_sizes()) return false;  // formulas are made of what is run
    const std::size_t events = first.end.events - first.begin.events;
    const std::size_t allocations = first.end.allocations - first.begin.allocations;
    const auto is_plain = [&](const Stretch& s) {
        return s.end.events - s.begin.events == events && s.end.allocations - s.begin.allocations == allocations &&
               s.end.windows == s.begin.windows && s.end.marks == s.begin.marks;
    };
    if (!is_plain(first) || !is_plain(second) || !is_plain(third)) return false;
    if (second.begin.events != first.end.events || third.begin.events != second.end.events) return false;
    for (std::size_t i = 0; i < events; ++i) {
        const Event x = program_.events[first.begin.events + i], y = program_.events[second.begin.events + i],
                    z = program_.events[third.begin.events + i];
        const bool is_known = z.kind == EventKind::alloc || z.kind == EventKind::free;
        if (!is_known || x.kind != z.kind || y.kind != z.kind) return false;
        if (y.id - x.id != allocations || z.id - y.id != allocations) return false;
        const std::int64_t a = program_.allocations[x.id].bytes, b = program_.allocations[y.id].bytes,
                           c = program_.allocations[z.id].bytes;
        if (c - b != b - a) return false;
    }
    return true;
}

void Recorder::write_grown(const Stretch& last, std::int64_t times, std::int64_t growth) {
    if (!keeps_program()) {
        requested_ += growth * times;
        return;
    }
    const auto count = static_cast<std::uint32_t>(last.end.allocations - last.begin.allocations);
    for (std::uint32_t time = 1; time <= static_cast<std::uint32_t>(times); ++time) {
        for (std::size_t i = last.begin.events; i < last.end.events; ++i) {
            Event event = program_.events[i];
            const std::uint32_t id = event.id;
            event.id += count * time;
            program_.events.push_back(event);
            if (event.kind == EventKind::free) continue;
            Allocation made = program_.allocations[id];
            made.bytes += (made.bytes - program_.allocations[id - count].bytes) * time;
            program_.allocations.push_back(made);
        }
    }
}

}  // namespace vramfit::engine
