// The memory of a run over its allocations and frees as a picture for documents.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>
#include <vector>

#include "report/documents.hpp"
#include "report/html/page.hpp"
#include "report/palette.hpp"
#include "vramfit/alloc/walk.hpp"
#include "vramfit/predict/allocator.hpp"

namespace vramfit::report {

namespace {

static_assert(std::size(kCategoryColours) == kCategoryCount);

constexpr int kWidth = 960, kLeft = 64, kRight = 16, kPlotHeight = 300, kAbove = 78, kFoot = 34, kColumns = 440;
constexpr int kPlotWidth = kWidth - kLeft - kRight, kLegendLine = 22;

/// The highest moment among the events of a column.
struct Column {
    std::size_t at = 0;
    Shares shares{};
    std::int64_t requested = 0;
    std::int64_t reserved = 0;
};

std::vector<Column> columns_of(const DrawnRun& run, const std::vector<EventLevels>& levels) {
    const std::size_t instants = run.program.events.size() + 1;
    std::vector<Column> out(std::min<std::size_t>(kColumns, instants));
    Column now;
    for (std::size_t at = 0; at < instants; ++at) {
        if (at > 0) {
            const Event event = run.program.events[at - 1];
            if (event.kind == EventKind::alloc || event.kind == EventKind::free) {
                const Allocation& a = run.program.allocations[event.id];
                const std::int64_t bytes = event.kind == EventKind::alloc ? a.bytes : -a.bytes;
                now.shares[static_cast<std::size_t>(a.category)] += bytes;
                now.requested += bytes;
            }
            now.reserved = levels[at - 1].reserved;
        }
        now.at = at;
        Column& column = out[at * out.size() / instants];
        const std::int64_t reserved = std::max(column.reserved, now.reserved);
        if (now.requested >= column.requested) column = now;
        column.reserved = reserved;
    }
    return out;
}

struct TimelinePicture {
    const DrawnRun& run;
    std::vector<Column> columns;
    std::int64_t highest = 1;  ///< of the scale
    int top = 0;

    double x(std::size_t column) const {
        return kLeft +
               static_cast<double>(kPlotWidth) * static_cast<double>(column) / static_cast<double>(columns.size());
    }
    double y(std::int64_t bytes) const {
        return top + kPlotHeight * (1 - static_cast<double>(bytes) / static_cast<double>(highest));
    }
    std::size_t column_of(std::size_t at) const { return at * columns.size() / (run.program.events.size() + 1); }
};

std::string text_in_svg(double x, double y, std::string_view text, std::string_view style = "") {
    return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\"{}{}>{}</text>\n", x, y, style.empty() ? "" : " ", style,
                       html_escaped(text));
}

/// The step line of a level over all columns, as a path; `back`: from the right to the left.
template <class Level>
std::string steps(const TimelinePicture& p, Level level, bool back) {
    std::string out;
    const std::size_t n = p.columns.size();
    double last = -1;
    for (std::size_t k = 0; k < n; ++k) {
        const std::size_t i = back ? n - 1 - k : k;
        const double y = p.y(level(p.columns[i]));
        if (k > 0 && fmt::format("{:.1f}", y) == fmt::format("{:.1f}", last) && k + 1 < n) continue;
        if (k > 0) fmt::format_to(std::back_inserter(out), "H{:.1f}", p.x(back ? i + 1 : i));
        fmt::format_to(std::back_inserter(out), "V{:.1f}", y);
        last = y;
    }
    fmt::format_to(std::back_inserter(out), "H{:.1f}", p.x(back ? 0 : n));
    return out;
}

std::string stack(const TimelinePicture& p) {
    std::string out;
    const auto below = [](const Column& c, std::size_t count) {
        std::int64_t sum = 0;
        for (std::size_t i = 0; i < count; ++i) sum += c.shares[i];
        return sum;
    };
    for (std::size_t category = 0; category < kCategoryCount; ++category) {
        const auto used = [category](const Column& c) { return c.shares[category] > 0; };
        if (std::none_of(p.columns.begin(), p.columns.end(), used)) continue;
        const std::string over = steps(
            p, [&](const Column& c) { return below(c, category + 1); }, false);
        const std::string under = steps(
            p, [&](const Column& c) { return below(c, category); }, true);
        out += fmt::format("<path fill=\"{}\" d=\"M{:.1f} {:.1f}{}{}Z\"><title>{}</title></path>\n",
                           kCategoryColours[category], p.x(0), p.y(0), over, under,
                           vramfit::name_of(static_cast<Category>(category)));
    }
    return out + fmt::format("<path class=\"reserved\" d=\"M{:.1f} {:.1f}{}\"/>\n", p.x(0), p.y(0),
                             steps(
                                 p, [](const Column& c) { return c.reserved; }, false));
}

std::string scale(const TimelinePicture& p) {
    std::string out;
    std::int64_t step = kMiB;
    for (const int factor : {2, 5, 2, 2, 5, 2, 2, 5, 2, 2, 5, 2, 2, 5, 2, 2, 5, 2}) {
        if (p.highest / step <= 7) break;
        step *= factor;
    }
    if (step >= kGiB / 4) step = std::max<std::int64_t>(1, (step + kGiB / 2) / kGiB) * kGiB;
    for (std::int64_t bytes = 0; bytes <= p.highest; bytes += step) {
        out += fmt::format("<path class=\"grid\" d=\"M{} {:.1f}H{}\"/>\n", kLeft, p.y(bytes), kWidth - kRight);
        const bool large = step >= kGiB;
        out += text_in_svg(kLeft - 6, p.y(bytes) + 4,
                           fmt::format("{} {}", bytes / (large ? kGiB : kMiB), large ? "GiB" : "MiB"), "class=\"end\"");
    }
    return out;
}

std::string limit(const TimelinePicture& p) {
    const Device& device = p.run.prediction.device;
    if (!device.capacity_known) return "";
    const std::string label = fmt::format("{}: {} usable", device.name, size_text(device.usable.count));
    if (device.usable.count > p.highest)
        return text_in_svg(kWidth - kRight - 4, p.top + 12, label + ", above", "class=\"end limit\"");
    return fmt::format("<path class=\"limit\" d=\"M{} {:.1f}H{}\"/>\n", kLeft, p.y(device.usable.count),
                       kWidth - kRight) +
           text_in_svg(kWidth - kRight - 4, p.y(device.usable.count) - 4, label, "class=\"end limit\"");
}

/// The highest peak has its name, others their letter; those without are not shown.
std::string mark_of(const PeakResult& peak, const Prediction& run) {
    if (peak.name == run.highest)
        return fmt::format("{}{}{}: {}", peak.id, peak.id.empty() ? "" : " ", peak.name, size_text(peak.requested));
    return peak.id;
}

std::string marks(const TimelinePicture& p) {
    std::string out;
    struct Mark {
        std::size_t at;
        std::string name, title, style;
    };
    std::vector<Mark> all;
    for (const PeakResult& peak : p.run.prediction.peaks)
        if (peak.name == p.run.prediction.highest || !peak.id.empty())
            all.push_back({peak.at, mark_of(peak, p.run.prediction),
                           fmt::format("{}: {} requested in {}", peak.name, size_text(peak.requested), peak.window),
                           "middle"});
    if (const auto& oom = p.run.prediction.out_of_memory)
        all.push_back({oom->event, "out of memory", p.run.prediction.out_of_memory_window, "middle limit"});
    // What ends the run, the highest peak and letters get their places first.
    const auto turn = [&p](const Mark& m) {
        if (m.style != "middle") return 0;
        return m.title.starts_with(p.run.prediction.highest + ":") ? 1 : 2;
    };
    std::stable_sort(all.begin(), all.end(),
                     [&](const Mark& a, const Mark& b) { return std::pair(turn(a), a.at) < std::pair(turn(b), b.at); });
    std::array<std::vector<std::pair<double, double>>, 3> rows;
    std::string names;  // over the lines of all marks
    for (const Mark& mark : all) {
        const std::size_t column = p.column_of(mark.at);
        const double x = p.x(column), half = 3.4 * static_cast<double>(mark.name.size()) + 4;
        const auto row = std::find_if(rows.begin(), rows.end(), [&](const auto& taken) {
            return std::all_of(taken.begin(), taken.end(),
                               [&](const auto& t) { return x + half <= t.first || x - half >= t.second; });
        });
        const double y = p.top - 34 + 13.0 * static_cast<double>(row == rows.end() ? 0 : row - rows.begin());
        out += fmt::format("<path class=\"mark\" d=\"M{:.1f} {:.1f}V{:.1f}\"/>\n", x, y + 3,
                           p.y(p.columns[column].requested));
        if (row == rows.end()) continue;  // no place for its name
        row->emplace_back(x - half, x + half);
        names += fmt::format("<g><title>{}</title>{}</g>\n", html_escaped(mark.title),
                             text_in_svg(std::clamp(x, kLeft + half, kWidth - kRight - half), y, mark.name,
                                         fmt::format("class=\"name {}\"", mark.style)));
    }
    return out + names;
}

/// Where loading, preparing and each step begin. Steps have their names first, others where there is room before them.
std::string windows(const TimelinePicture& p) {
    struct Begin {
        double x;
        std::string name;
        double end() const { return x + 7.0 * static_cast<double>(name.size()) + 6; }
    };
    std::vector<Begin> all;
    for (const Window& window : p.run.program.windows) {
        std::string name = name_of(window.phase);
        if (window.phase.step >= 0) name = fmt::format("step {}", window.phase.step);
        if ((!all.empty() && name == all.back().name) || window.phase.kind == PhaseKind::start) continue;
        all.push_back({p.x(p.column_of(window.first_event)), std::move(name)});
    }
    std::string out;
    double free = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
        const Begin& begin = all[i];
        out += fmt::format("<path class=\"mark\" d=\"M{:.1f} {}v6\"/>\n", begin.x, p.top + kPlotHeight);
        const bool step = begin.name.starts_with("step");
        const auto hides = [&](const Begin& later) { return later.name.starts_with("step") && later.x < begin.end(); };
        if (!step && std::any_of(all.begin() + static_cast<std::ptrdiff_t>(i) + 1, all.end(), hides)) continue;
        if (begin.x < free || begin.end() > kWidth) continue;
        out += text_in_svg(begin.x + 3, p.top + kPlotHeight + 18, begin.name);
        free = begin.end();
    }
    return out;
}

std::string panel_of(const TimelinePicture& p) {
    return text_in_svg(kLeft, p.top - 54, p.run.title, "class=\"title\"") + scale(p) + stack(p) + marks(p) + limit(p) +
           windows(p);
}

/// The categories that occur, in lines below the panels; `top` is moved behind them.
std::string timeline_legend(const std::vector<TimelinePicture>& panels, int& top) {
    std::string out;
    int x = kLeft;
    const auto entry = [&](const std::string& sample, std::string_view name) {
        const int width = 32 + 7 * static_cast<int>(name.size());
        if (x > kLeft && x + width > kWidth - kRight) {
            x = kLeft;
            top += kLegendLine;
        }
        out += fmt::format("<g transform=\"translate({},{})\">{}</g>\n", x, top, sample) +
               text_in_svg(x + 22, top + 11, name);
        x += width + 8;
    };
    for (std::size_t i = 0; i < kCategoryCount; ++i) {
        const auto used = [i](const TimelinePicture& p) {
            return std::any_of(p.columns.begin(), p.columns.end(), [i](const Column& c) { return c.shares[i] > 0; });
        };
        if (std::none_of(panels.begin(), panels.end(), used)) continue;
        std::string name = vramfit::name_of(static_cast<Category>(i));
        std::replace(name.begin(), name.end(), '_', ' ');
        entry(fmt::format("<rect width=\"16\" height=\"13\" fill=\"{}\"/>", kCategoryColours[i]), name);
    }
    entry("<path class=\"reserved\" d=\"M0 7H16\"/>", "reserved by the allocator");
    top += kLegendLine;
    return out;
}

constexpr const char* kStyle =
    "<style>text{font:12px sans-serif;fill:#222222}.title{font-size:15px;font-weight:bold}.end{text-anchor:end}"
    ".middle{text-anchor:middle}.name{paint-order:stroke;stroke:#ffffff;stroke-width:3px}.grid{stroke:#dddddd;fill:"
    "none}.mark{stroke:#555555;fill:none}"
    ".reserved{stroke:#222222;stroke-width:1.4;stroke-dasharray:5 3;fill:none}"
    ".limit{stroke:#B3261E;stroke-width:2;fill:none}text.limit{paint-order:stroke;stroke:#ffffff;stroke-width:3px;fill:"
    "#B3261E}.page{fill:#ffffff}@media(prefers-color-scheme:dark){text{fill:#e6e6e6}.page{fill:#14171b}.name,text."
    "limit{"
    "stroke:#14171b}.grid{stroke:#333a40}.mark{stroke:#a0a0a0}.reserved{stroke:#e6e6e6}.limit{stroke:#ff8a80}"
    "text.limit{fill:#ff8a80}}</style>\n";

}  // namespace

std::string timeline_svg(const TimelineReport& report, const Layout&) {
    std::vector<TimelinePicture> panels;
    std::int64_t highest = 1;
    for (const DrawnRun& run : report.drawn) {
        const std::vector<EventLevels> levels = levels_by_event(run.program, without_limit(run.allocator));
        panels.push_back({run, columns_of(run, levels), 1, 0});
        for (const Column& column : panels.back().columns) highest = std::max(highest, column.reserved);
    }
    for (const DrawnRun& run : report.drawn) {
        const Device& device = run.prediction.device;
        if (device.capacity_known && device.usable.count < highest + highest / 2)
            highest = std::max(highest, device.usable.count);
    }
    int top = 0;
    std::string body;
    for (TimelinePicture& panel : panels) {
        panel.highest = highest + highest / 16;
        panel.top = top + kAbove;
        top = panel.top + kPlotHeight + kFoot;
        body += panel_of(panel);
    }
    body += timeline_legend(panels, top);
    body += text_in_svg(kLeft, top + 10, "across: allocations and frees in their order; letters: the named peaks",
                        "fill-opacity=\"0.8\"");
    top += 24;
    return fmt::format(
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
               "role=\"img\" aria-label=\"{2}\">\n{3}<rect width=\"{0}\" height=\"{1}\" class=\"page\"/>\n",
               kWidth, top, html_escaped(fmt::format("{}: memory of a fine-tuning run", report.model)), kStyle) +
           body + "</svg>\n";
}

}  // namespace vramfit::report
