// What a program's events say in order, as text.
#include "support/story.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "model/record.hpp"

namespace vramfit::test {

namespace {

/// Where the loading of the network ends.
std::size_t end_of_load(const Program& program) {
    const auto first = std::find_if(program.windows.begin(), program.windows.end(), [](const Window& window) {
        return window.phase.kind != PhaseKind::start && window.phase.kind != PhaseKind::load;
    });
    return first == program.windows.end() ? program.events.size() : first->first_event;
}

/// What happens in order from an event on: allocations with their sizes and operators, frees, windows. What was there
/// before has no number: only its size is said.
std::vector<std::string> story_of(const Program& program, std::size_t from) {
    const auto before = static_cast<std::uint32_t>(
        std::count_if(program.events.begin(), program.events.begin() + static_cast<std::ptrdiff_t>(from),
                      [](const Event& event) { return event.kind == EventKind::alloc; }));
    const auto number_of = [&](std::uint32_t id) {
        return id < before ? fmt::format("of {} bytes", program.allocations[id].bytes) : std::to_string(id - before);
    };
    std::vector<std::string> story;
    std::size_t window = 0;
    for (std::size_t i = from; i < program.events.size(); ++i) {
        for (; window < program.windows.size() && program.windows[window].first_event <= i; ++window) {
            if (program.windows[window].first_event < from) continue;
            const Phase& phase = program.windows[window].phase;
            story.push_back(
                fmt::format("window {} step {} layer {}", static_cast<int>(phase.kind), phase.step, phase.layer));
        }
        const Event& event = program.events[i];
        if (event.kind == EventKind::free)
            story.push_back(fmt::format("free {}", number_of(event.id)));
        else if (event.kind == EventKind::alloc)
            story.push_back(fmt::format("alloc {} {} bytes, {}", number_of(event.id),
                                        program.allocations[event.id].bytes,
                                        program.ops[program.allocations[event.id].op]));
        else if (event.kind == EventKind::stream_done)
            story.push_back(fmt::format("{} frees of stream {} need wait no longer", event.id, event.stream));
        else
            story.push_back(fmt::format("event {} of {}", static_cast<int>(event.kind), number_of(event.id)));
    }
    return story;
}

/// Frees that follow each other, by number: recorded frames let go in another order where a recomputation stops early.
void sort_frees(std::vector<std::string>& story) {
    const auto is_free = [](const std::string& one) { return one.starts_with("free"); };
    for (auto first = std::find_if(story.begin(), story.end(), is_free); first != story.end();
         first = std::find_if(first, story.end(), is_free)) {
        const auto end = std::find_if_not(first, story.end(), is_free);
        std::sort(first, end);
        first = end;
    }
}

}  // namespace

std::string difference(const Job& job, const network::Document& recording, bool any_order) {
    const Program written = model::record(job.model, job.plan, job.stack, job.device);
    const Program recorded = model::record_recorded(job.model, job.plan, job.stack, job.device, recording);
    const bool loads_otherwise = !recording.conversion.empty();
    auto a = story_of(written, loads_otherwise ? end_of_load(written) : 0);
    auto b = story_of(recorded, loads_otherwise ? end_of_load(recorded) : 0);
    if (loads_otherwise || any_order)
        for (auto* story : {&a, &b}) sort_frees(*story);
    if (a.size() < 400) return "too few events";
    std::size_t at = 0;
    while (at < std::min(a.size(), b.size()) && a[at] == b[at]) ++at;
    if (at == a.size() && at == b.size()) return "";
    std::string shown = fmt::format("{} events by hand, {} recorded; they differ from {} on\n", a.size(), b.size(), at);
    // What is freed first in one of them, where it is made.
    for (const auto* story : {&a, &b}) {
        if (at >= story->size() || !(*story)[at].starts_with("free ")) continue;
        const std::string made = "alloc " + (*story)[at].substr(5) + " ";
        for (std::size_t i = 0; i < at; ++i)
            if ((*story)[i].starts_with(made))
                shown += fmt::format("{} is made at {}: {}\n", story == &a ? "by hand" : "recorded", i, (*story)[i]);
    }
    const auto around = [&](const std::vector<std::string>& story, std::string_view name) {
        for (std::size_t i = at > 12 ? at - 12 : 0; i < std::min(at + 12, story.size()); ++i)
            shown += fmt::format("{} {} {}\n", name, i, story[i]);
    };
    around(a, "by hand");
    around(b, "recorded");
    return shown;
}

}  // namespace vramfit::test
