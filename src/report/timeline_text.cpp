// The windows of a run as a table, and its events as a list.
#include <fmt/format.h>

#include "base/text_table.hpp"
#include "report/documents.hpp"
#include "report/plan_text.hpp"
#include "vramfit/spec/sizes.hpp"

namespace vramfit::report {

namespace {

TextTable windows_of(const Timeline& timeline) {
    TextTable table;
    table.columns = {{"window", Align::left},
                     {"requested peak", Align::right},
                     {"requested end", Align::right, 2},
                     {"allocated peak", Align::right, 3},
                     {"reserved peak", Align::right}};
    for (const WindowLevels& window : timeline.windows) {
        table.rows.push_back({name_of(window.phase), size_text(window.peak.requested), size_text(window.end.requested),
                              size_text(window.peak.allocated), size_text(window.peak.reserved)});
    }
    return table;
}

TextTable events_of(const Program& program) {
    TextTable table;
    table.columns = {{"window", Align::left, 1},   {"event"},
                     {"id", Align::right},         {"bytes", Align::right},
                     {"category", Align::left, 3}, {"operator", Align::left, 2}};
    std::size_t window = 0;
    for (std::size_t i = 0; i < program.events.size(); ++i) {
        while (window + 1 < program.windows.size() && program.windows[window + 1].first_event <= i) ++window;
        const Event event = program.events[i];
        const std::string place = name_of(program.windows[window].phase);
        if (event.kind == EventKind::empty_cache) {
            table.rows.push_back({place, "empty cache"});
            continue;
        }
        if (event.kind == EventKind::warm_up) {
            table.rows.push_back({place, "warm up"});
            continue;
        }
        if (event.kind == EventKind::stream_done) {
            table.rows.push_back({place, fmt::format("stream {} done", event.stream)});
            continue;
        }
        const bool begins = event.kind == EventKind::alloc || event.kind == EventKind::managed_alloc;
        const bool managed = event.kind == EventKind::managed_alloc || event.kind == EventKind::managed_free;
        const Allocation& allocation = program.allocations[event.id];
        if (event.kind == EventKind::record_stream) {
            table.rows.push_back({place, fmt::format("used on stream {}", event.stream), fmt::format("{}", event.id),
                                  fmt::format("{}", allocation.bytes), name_of(allocation.category)});
            continue;
        }
        const bool named = allocation.op < program.ops.size();
        table.rows.push_back({place, fmt::format("{}{}", managed ? "managed " : "", begins ? "alloc" : "free"),
                              fmt::format("{}", event.id), fmt::format("{}", allocation.bytes),
                              name_of(allocation.category), named ? program.ops[allocation.op] : ""});
    }
    return table;
}

}  // namespace

std::string timeline_text(const TimelineReport& report, const Layout& layout) {
    std::string out = text_of(windows_of(report.timeline), layout.table_width);
    if (report.timeline.out_of_memory) {
        const OutOfMemory& oom = *report.timeline.out_of_memory;
        out += '\n';
        out +=
            wrapped(fmt::format("out of memory in {}: a request of {} for which the allocator wants a segment of {}; "
                                "the run ends there",
                                name_of(report.timeline.windows[oom.window].phase), size_text(oom.requested),
                                size_text(oom.segment)),
                    layout.width);
    }
    if (!report.notes.empty()) out += "\n" + describe(report.notes, layout.width);
    if (report.events) {
        out += '\n';
        out += text_of(events_of(*report.events), layout.table_width);
    }
    return out;
}

}  // namespace vramfit::report
