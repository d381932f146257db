// The memory of a run over its allocations and frees as a page: the data for src/report/html/timeline.js.
#include <fmt/format.h>

#include <iterator>
#include <map>
#include <tuple>

#include "report/documents.hpp"
#include "report/html/assets.hpp"
#include "report/html/page.hpp"
#include "spec/json_value.hpp"
#include "vramfit/alloc/walk.hpp"
#include "vramfit/predict/allocator.hpp"

namespace vramfit::report {

namespace {

std::string quoted(std::string_view text) {
    std::string out = to_text(JsonValue::of(text));
    out.pop_back();
    return out;
}

/// Numbers of seven bits a byte, lowest first; a byte below 128 ends one.
class Packed {
  public:
    void add(std::uint64_t value) {
        for (; value >= 128; value >>= 7) bytes_ += static_cast<char>((value & 127) | 128);
        bytes_ += static_cast<char>(value);
    }

    std::string base64() const {
        constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        std::string out;
        out.reserve(bytes_.size() / 3 * 4 + 4);
        for (std::size_t i = 0; i < bytes_.size(); i += 3) {
            std::uint32_t group = 0;
            for (std::size_t k = 0; k < 3; ++k)
                group = (group << 8) | (i + k < bytes_.size() ? static_cast<unsigned char>(bytes_[i + k]) : 0u);
            for (std::size_t k = 0; k < 4; ++k)
                out += i + k <= bytes_.size() ? kDigits[(group >> (18 - 6 * k)) & 63] : '=';
        }
        return out;
    }

  private:
    std::string bytes_;
};

/// Allocations of one kind differ in their layer only: bytes, what the block has beyond them, category, operator,
/// module.
using AllocationKind = std::tuple<std::int64_t, std::int64_t, int, std::size_t, std::size_t>;

/// The events of a run for the script. By event: 4 x kind and then layer + 1 of an allocation; 4 x (allocations since
/// then) + 1 of a free; 2 of what the picture does not show.
class EventCode {
  public:
    explicit EventCode(const DrawnRun& run) : program_(run.program) {
        numbers_.resize(program_.allocations.size());
        walk(program_, without_limit(run.allocator), [this](const WalkedEvent& walked) { see(walked); });
    }

    std::string events() const { return code_.base64(); }
    std::string kinds() const {
        std::vector<const AllocationKind*> in_order(kinds_.size());
        for (const auto& [kind, number] : kinds_) in_order[number] = &kind;
        std::string out;
        for (const AllocationKind* kind : in_order) {
            const auto& [bytes, extra, category, op, module] = *kind;
            fmt::format_to(std::back_inserter(out), "{}[{},{},{},{},{}]", out.empty() ? "" : ",", bytes, extra,
                           category, op, module);
        }
        return out;
    }
    /// Instants and levels at which the reserved bytes change, each as a difference to the one before.
    const std::string& reserved() const { return reserved_; }

  private:
    void see(const WalkedEvent& walked) {
        const PoolStatistics& all = walked.allocator->statistics().all();
        const std::int64_t block = all.allocated.current - allocated_;
        allocated_ = all.allocated.current;
        if (const std::int64_t change = all.reserved.current - last_reserved_; change != 0) {
            fmt::format_to(std::back_inserter(reserved_), "{}{},{}", reserved_.empty() ? "" : ",",
                           walked.number + 1 - reserved_at_, change);
            reserved_at_ = walked.number + 1;
            last_reserved_ = all.reserved.current;
        }
        const Event event = program_.events[walked.number];
        if (event.kind == EventKind::alloc) {
            const Allocation& a = program_.allocations[event.id];
            const AllocationKind kind{a.bytes, block - a.bytes, static_cast<int>(a.category), a.op, a.module};
            code_.add(4 * kinds_.try_emplace(kind, kinds_.size()).first->second);
            code_.add(static_cast<std::uint64_t>(a.layer + 1));
            numbers_[event.id] = ++count_;
        } else if (event.kind == EventKind::free) {
            code_.add(4 * (count_ - numbers_[event.id]) + 1);
        } else {
            code_.add(2);
        }
    }

    const Program& program_;
    Packed code_;
    std::map<AllocationKind, std::size_t> kinds_;
    std::vector<std::size_t> numbers_;  ///< by id: which allocation it is
    std::size_t count_ = 0;
    std::string reserved_;
    std::size_t reserved_at_ = 0;
    std::int64_t last_reserved_ = 0;
    std::int64_t allocated_ = 0;
};

template <class Items, class Write>
std::string list_of(const Items& items, Write write) {
    std::string out;
    for (const auto& item : items) out += fmt::format("{}{}", out.empty() ? "" : ",", write(item));
    return out;
}

std::string names_of_categories() {
    std::string out;
    for (int i = 0; i < kCategoryCount; ++i)
        out += fmt::format("{}\"{}\"", i == 0 ? "" : ",", vramfit::name_of(static_cast<Category>(i)));
    return out;
}

std::string run_json(const DrawnRun& run) {
    const Program& program = run.program;
    const Prediction& p = run.prediction;
    const EventCode code(run);
    const auto window = [](const Window& w) { return fmt::format("[\"{}\",{}]", name_of(w.phase), w.first_event); };
    const auto peak = [](const PeakResult& r) {
        return fmt::format("[{},{},{},{},{},{},{}]", quoted(r.id), quoted(r.name), quoted(r.window), r.at, r.requested,
                           r.allocated, r.reserved);
    };
    std::string oom = "null";
    if (p.out_of_memory)
        oom =
            fmt::format("[{},{},{}]", p.out_of_memory->event, quoted(p.out_of_memory_window), p.out_of_memory->segment);
    std::string out = fmt::format(
        "{{\"title\":{},\"command\":{},\"card\":{},\"limit\":{},\"verdict\":\"{}\",\"oom\":{},\"layers\":{},",
        quoted(run.title), quoted(run.command), quoted(p.device.name),
        p.device.capacity_known ? p.device.usable.count : 0, vramfit::name_of(p.verdict), oom,
        p.model.num_hidden_layers);
    out += fmt::format("\"categories\":[{}],\"ops\":[{}],\"modules\":[{}],\n", names_of_categories(),
                       list_of(program.ops, quoted), list_of(program.modules, quoted));
    out +=
        fmt::format("\"windows\":[{}],\n\"peaks\":[{}],\n", list_of(program.windows, window), list_of(p.peaks, peak));
    out += fmt::format("\"kinds\":[{}],\n\"reserved\":[{}],\n\"events\":\"{}\"}}", code.kinds(), code.reserved(),
                       code.events());
    return out;
}

std::string notes_html(const Notes& notes) {
    std::string out;
    for (const Note& note : notes)
        out += fmt::format("<p class=\"quiet\">note: {}{}</p>\n", html_escaped(note.text),
                           note.hint.empty() ? "" : html_escaped(fmt::format("; {}", note.hint)));
    return out;
}

constexpr const char* kHelp =
    "<p class=\"quiet\">Across: allocations and frees in their order, not time. Coloured: bytes that tensors request. "
    "Thin "
    "line: allocated, with the allocator's rounding. Dashed line: reserved, what the GPU has given. Drag to zoom, "
    "double "
    "click for all; with the keyboard: tab to the picture, arrows move, + and − zoom, 0 shows all, p goes to the next "
    "peak. Letters are the named peaks of the table below.</p>\n";

}  // namespace

std::string timeline_html(const TimelineReport& report, const Layout&) {
    HtmlPage page;
    page.title = fmt::format("{}: memory of a fine-tuning run", report.model);
    page.body = fmt::format("<h1>{}</h1>\n{}<div id=\"runs\" class=\"runs\"></div>\n{}", html_escaped(page.title),
                            kHelp, notes_html(report.notes));
    page.data = fmt::format("{{\"runs\":[{}]}}", list_of(report.drawn, run_json));
    page.script = timeline_js();
    return html_of(page);
}

std::string timeline_snapshot(const TimelineReport& report, const Layout&) {
    if (report.drawn.empty()) return {};
    const DrawnRun& run = report.drawn.front();
    Snapshot snapshot = snapshot_of(run.program, run.allocator);
    snapshot.alloc_conf = run.prediction.device.alloc_conf;
    return to_pickle(snapshot);
}

}  // namespace vramfit::report
