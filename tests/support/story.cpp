// What a program's events say in order, as text.
#include "support/story.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "model/record.hpp"

namespace vramfit::test {

namespace {

/// What happens in order: allocations with their sizes and operators, frees, windows.
std::vector<std::string> story_of(const Program& program) {
    std::vector<std::string> story;
    std::size_t window = 0;
    for (std::size_t i = 0; i < program.events.size(); ++i) {
        for (; window < program.windows.size() && program.windows[window].first_event == i; ++window) {
            const Phase& phase = program.windows[window].phase;
            story.push_back(
                fmt::format("window {} step {} layer {}", static_cast<int>(phase.kind), phase.step, phase.layer));
        }
        const Event& event = program.events[i];
        if (event.kind == EventKind::free) {
            story.push_back(fmt::format("free {}", event.id));
            continue;
        }
        const Allocation& made = program.allocations[event.id];
        if (event.kind == EventKind::alloc)
            story.push_back(fmt::format("alloc {} {} bytes, {}", event.id, made.bytes, program.ops[made.op]));
        else
            story.push_back(fmt::format("event {} of {}", static_cast<int>(event.kind), event.id));
    }
    return story;
}

}  // namespace

std::string difference(const Job& job, const network::Document& recording) {
    const Program written = model::record(job.model, job.plan, job.stack, job.device);
    const Program recorded = model::record_recorded(job.model, job.plan, job.stack, job.device, recording);
    const auto a = story_of(written), b = story_of(recorded);
    if (a.size() < 400) return "too few events";
    std::size_t at = 0;
    while (at < std::min(a.size(), b.size()) && a[at] == b[at]) ++at;
    if (at == a.size() && at == b.size()) return "";
    std::string shown = fmt::format("{} events by hand, {} recorded; they differ from {} on\n", a.size(), b.size(), at);
    const auto around = [&](const std::vector<std::string>& story, std::string_view name) {
        for (std::size_t i = at > 12 ? at - 12 : 0; i < std::min(at + 12, story.size()); ++i)
            shown += fmt::format("{} {} {}\n", name, i, story[i]);
    };
    around(a, "by hand");
    around(b, "recorded");
    return shown;
}

}  // namespace vramfit::test
