// The document vramfit.timeline/1, one window a line; its events, if asked for, one a line too.
#include <fmt/format.h>

#include <iterator>

#include "report/documents.hpp"
#include "report/json.hpp"
#include "spec/json_value.hpp"

namespace vramfit::report {

namespace {

using Out = std::back_insert_iterator<std::string>;

void write_level(Out out, const char* name, const WindowLevels& window, std::int64_t Levels::*level) {
    fmt::format_to(out, ", \"{}\": {{\"start\": {}, \"peak\": {}, \"end\": {}}}", name, window.start.*level,
                   window.peak.*level, window.end.*level);
}

void write_windows(Out out, const Timeline& timeline) {
    const char* separator = "";
    for (const WindowLevels& window : timeline.windows) {
        fmt::format_to(out, "{}\n    {{\"name\": \"{}\"", separator, name_of(window.phase));
        write_level(out, "requested", window, &Levels::requested);
        write_level(out, "allocated", window, &Levels::allocated);
        write_level(out, "reserved", window, &Levels::reserved);
        write_level(out, "managed", window, &Levels::managed);
        fmt::format_to(out, ", \"retries\": {}}}", window.retries);
        separator = ",";
    }
}

void write_out_of_memory(Out out, const Timeline& timeline) {
    if (!timeline.out_of_memory) {
        fmt::format_to(out, "  \"out_of_memory\": null,\n");
        return;
    }
    const OutOfMemory& oom = *timeline.out_of_memory;
    fmt::format_to(
        out, "  \"out_of_memory\": {{\"window\": \"{}\", \"requested\": {}, \"rounded\": {}, \"segment\": {}}},\n",
        name_of(timeline.windows[oom.window].phase), oom.requested, oom.rounded, oom.segment);
}

void write_notes(Out out, const Notes& notes) {
    std::string text = to_text(notes_to_json(notes));
    text.pop_back();
    for (const char c : text) fmt::format_to(out, "{}{}", c, c == '\n' ? "  " : "");
}

const char* name_of(EventKind kind) {
    switch (kind) {
        case EventKind::alloc: return "alloc";
        case EventKind::free: return "free";
        case EventKind::empty_cache: return "empty_cache";
        case EventKind::managed_alloc: return "managed_alloc";
        case EventKind::managed_free: return "managed_free";
        case EventKind::record_stream: return "record_stream";
        case EventKind::stream_done: return "stream_done";
        case EventKind::warm_up: return "warm_up";
    }
    return "unknown";
}

// [window index, kind, id, bytes, {"op", "category", "layer"}]: the form of recorded traces.
void write_events(Out out, const Program& program) {
    const char* separator = "";
    std::size_t window = 0;
    for (std::size_t i = 0; i < program.events.size(); ++i) {
        while (window + 1 < program.windows.size() && program.windows[window + 1].first_event <= i) ++window;
        const Event event = program.events[i];
        fmt::format_to(out, "{}\n    [{}, \"{}\"", separator, window, name_of(event.kind));
        separator = ",";
        if (event.kind == EventKind::empty_cache || event.kind == EventKind::warm_up) {
            fmt::format_to(out, ", 0, 0]");
            continue;
        }
        if (event.kind == EventKind::stream_done) {
            fmt::format_to(out, ", {}, 0, {{\"stream\": {}}}]", event.id, event.stream);
            continue;
        }
        const Allocation& allocation = program.allocations[event.id];
        fmt::format_to(out, ", {}, {}", event.id, allocation.bytes);
        if (event.kind == EventKind::alloc || event.kind == EventKind::managed_alloc) {
            const bool named = allocation.op < program.ops.size();
            fmt::format_to(out, ", {{\"op\": \"{}\", \"category\": \"{}\", \"layer\": {}",
                           named ? program.ops[allocation.op] : "", vramfit::name_of(allocation.category),
                           allocation.layer);
            if (const std::string module = module_of(program, allocation); !module.empty())
                fmt::format_to(out, ", \"module\": \"{}\"", module);
            if (allocation.stream != 0) fmt::format_to(out, ", \"stream\": {}", unsigned{allocation.stream});
            fmt::format_to(out, "}}");
        }
        if (event.kind == EventKind::record_stream) fmt::format_to(out, ", {{\"stream\": {}}}", event.stream);
        fmt::format_to(out, "]");
    }
}

}  // namespace

std::string timeline_json(const TimelineReport& report, const Layout&) {
    std::string text;
    const Out out(text);
    std::string model = to_text(JsonValue::of(std::string_view(report.model)));
    model.pop_back();
    fmt::format_to(out, "{{\n  \"schema\": \"vramfit.timeline/1\",\n  \"model\": {},\n  \"windows\": [", model);
    write_windows(out, report.timeline);
    fmt::format_to(out, "\n  ],\n");
    write_out_of_memory(out, report.timeline);
    fmt::format_to(out, "  \"retries\": {},\n  \"notes\": ", report.timeline.retries);
    write_notes(out, report.notes);
    if (report.events) {
        fmt::format_to(out, ",\n  \"events\": [");
        write_events(out, *report.events);
        fmt::format_to(out, "\n  ]");
    }
    fmt::format_to(out, "\n}}\n");
    return text;
}

}  // namespace vramfit::report
