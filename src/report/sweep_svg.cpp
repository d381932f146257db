// A sweep as a picture: which rows fit, with the highest peak as colour.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "report/documents.hpp"
#include "report/sweep_map.hpp"
#include "vramfit/spec/sizes.hpp"

namespace vramfit::report {

namespace {

// B. Wong, "Points of view: Color blindness", Nature Methods 8 (2011), and three that stay apart from them.
constexpr const char* kColours[] = {"#56B4E9", "#E69F00", "#009E73", "#CC79A7", "#F0E442", "#0072B2",
                                    "#D55E00", "#999999", "#8C6D31", "#7B4FA3", "#4C9F9F", "#B5B35C"};
constexpr int kCellHeight = 30, kGap = 40, kMargin = 24, kPanelHead = 26, kUsualWidth = 560, kAxisBelow = 46,
              kMostCellWidth = 96, kPanelsInLine = 2;
constexpr int kHead = 70;  ///< title and the line below it

std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '&')
            out += "&amp;";
        else if (c == '<')
            out += "&lt;";
        else if (c == '>')
            out += "&gt;";
        else
            out += c;
    }
    return out;
}

std::string axis_words(const std::string& axis) {
    if (axis == "seq") return "sequence length";
    if (axis == "batch") return "batch size";
    return axis;
}

std::string text_at(int x, int y, std::string_view text, std::string_view style = "") {
    return fmt::format("<text x=\"{}\" y=\"{}\"{}{}>{}</text>\n", x, y, style.empty() ? "" : " ", style, escaped(text));
}

/// Numbers of colours by the peaks that occur, in the order of the peaks' ids.
std::map<std::string, std::size_t> colours_of(const SweepMap& map) {
    std::map<std::string, std::size_t> out;
    for (const Peak* peak : peaks_in_order())
        for (const MapPanel& panel : map.panels)
            for (const SweepRow* row : panel.cells)
                if (row && row->peak == peak) out.try_emplace(peak->name, out.size() % std::size(kColours));
    return out;
}

struct Picture {
    SweepMap map;
    std::map<std::string, std::size_t> colours;
    int cell_width = 0;
    int label_width = 0;  ///< of the vertical axis

    int columns() const { return static_cast<int>(map.columns.size()); }
    int lines() const { return static_cast<int>(map.lines.size()); }
    int panel_width() const { return label_width + cell_width * columns(); }
    int panel_head() const { return map.panels.size() == 1 && map.panels.front().title.empty() ? 4 : kPanelHead; }
    int panel_height() const { return panel_head() + kCellHeight * lines() + kAxisBelow; }
    int in_line() const { return std::min(kPanelsInLine, static_cast<int>(map.panels.size())); }
    int width() const {
        const int panels = in_line() * panel_width() + (in_line() - 1) * kGap;
        return 2 * kMargin + std::max(panels, kUsualWidth);
    }
};

int width_in_pixels(std::string_view text) { return 7 * static_cast<int>(text.size()); }

Picture picture_of(SweepMap map) {
    Picture p;
    p.map = std::move(map);
    p.colours = colours_of(p.map);
    p.cell_width = 48;
    for (const std::string& label : p.map.columns) p.cell_width = std::max(p.cell_width, width_in_pixels(label) + 10);
    for (const std::string& label : p.map.lines) p.label_width = std::max(p.label_width, width_in_pixels(label));
    p.label_width += 34;
    if (p.map.panels.size() == 1)  // a small map has the width of the words around it
        p.cell_width = std::max(p.cell_width, std::min(kMostCellWidth, (kUsualWidth - p.label_width) / p.columns()));
    return p;
}

std::string cell(const Picture& p, const SweepRow* row, int x, int y) {
    const auto box = [&](std::string_view style) {
        return fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" {}/>\n", x + 1, y + 1, p.cell_width - 2,
                           kCellHeight - 2, style);
    };
    if (!row || row->status != RowStatus::simulated) return box("class=\"none\"");
    const auto colour = row->peak ? p.colours.find(row->peak->name) : p.colours.end();
    const std::size_t number = colour == p.colours.end() ? 7 : colour->second;
    const bool fits = row->verdict == Verdict::fits;
    std::string out = fits ? box(fmt::format("fill=\"{}\"", kColours[number]))
                           : box(fmt::format("fill=\"url(#no{0})\" stroke=\"{1}\"", number, kColours[number]));
    const double requested = static_cast<double>(row->requested_on_card()) / static_cast<double>(kGiB);
    const std::string amount = fmt::format("{:.{}f}", requested, requested < 99.95 ? 1 : 0);
    // A plain ground keeps the number legible on hatching.
    if (!fits)
        out += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"16\" class=\"page\"/>\n",
                           x + p.cell_width / 2 - width_in_pixels(amount) / 2 - 3, y + kCellHeight / 2 - 8,
                           width_in_pixels(amount) + 6);
    return out +
           text_at(x + p.cell_width / 2, y + kCellHeight / 2 + 4, amount, fits ? "class=\"in on\"" : "class=\"in no\"");
}

std::string panel(const Picture& p, const MapPanel& panel, int left, int top) {
    std::string out;
    if (!panel.title.empty()) out += text_at(left + p.label_width, top + 16, panel.title, "class=\"head\"");
    const int grid = left + p.label_width;
    for (int line = 0; line < p.lines(); ++line) {
        const int y = top + p.panel_head() + kCellHeight * (p.lines() - 1 - line);
        out += text_at(grid - 6, y + kCellHeight / 2 + 4, p.map.lines[static_cast<std::size_t>(line)],
                       "text-anchor=\"end\"");
        for (int column = 0; column < p.columns(); ++column)
            out += cell(p, panel.cells[static_cast<std::size_t>(line * p.columns() + column)],
                        grid + p.cell_width * column, y);
    }
    const int below = top + p.panel_head() + kCellHeight * p.lines();
    for (int column = 0; column < p.columns(); ++column)
        out += text_at(grid + p.cell_width * column + p.cell_width / 2, below + 16,
                       p.map.columns[static_cast<std::size_t>(column)], "class=\"in\"");
    out += text_at(grid + p.cell_width * p.columns() / 2, below + 36, axis_words(p.map.x), "class=\"in axis\"");
    const int middle = top + p.panel_head() + kCellHeight * p.lines() / 2;
    out += fmt::format("<text transform=\"translate({},{}) rotate(-90)\" class=\"in axis\">{}</text>\n", left + 12,
                       middle, escaped(axis_words(p.map.y)));
    return out;
}

std::string legend(const Picture& p, int top) {
    std::string out;
    int x = kMargin, y = top;
    const auto entry = [&](const std::string& fill, const std::string& label) {
        const int width = 34 + width_in_pixels(label);
        if (x > kMargin && x + width > p.width() - kMargin) {
            x = kMargin;
            y += 24;
        }
        out += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"18\" height=\"14\" {}/>\n", x, y, fill);
        out += text_at(x + 24, y + 12, label);
        x += width + 10;
    };
    std::vector<std::string> names(p.colours.size());
    for (const auto& [name, number] : p.colours) names[number] = name;
    for (std::size_t i = 0; i < names.size(); ++i) entry(fmt::format("fill=\"{}\"", kColours[i]), names[i]);
    x = kMargin;
    y += 24;
    entry("fill=\"#bbbbbb\"", "fits");
    entry("fill=\"url(#no7)\" stroke=\"#999999\"", "does not fit");
    entry("class=\"none\"", "no run, or not looked at");
    return out;
}

int legend_height(const Picture& p) {
    int lines = 2, x = 0;
    for (const auto& [name, number] : p.colours) {
        const int width = 44 + width_in_pixels(name);
        if (x > 0 && x + width > p.width() - 2 * kMargin) {
            ++lines;
            x = 0;
        }
        x += width;
    }
    return 24 * lines;
}

std::string definitions(const Picture& p) {
    std::string out =
        "<style>text{font:12px sans-serif;fill:#222222}.in{text-anchor:middle}.no{fill:#555555}"
        ".head{font-weight:bold}.axis{font-style:italic}.title{font-size:16px;font-weight:bold}"
        ".page{fill:#ffffff}.none{fill:#eeeeee}@media(prefers-color-scheme:dark){text{fill:#e6e6e6}.no{fill:#b0b0b0}"
        ".on{fill:#111111}.page{fill:#14171b}.none{fill:#2a3035}}</style>\n<defs>\n";
    for (std::size_t i = 0; i < std::max<std::size_t>(8, p.colours.size()); ++i)
        out += fmt::format(
            "<pattern id=\"no{}\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
            "patternTransform=\"rotate(45)\"><rect width=\"6\" height=\"6\" class=\"page\"/>"
            "<rect width=\"2\" height=\"6\" fill=\"{}\"/></pattern>\n",
            i, kColours[i]);
    return out + "</defs>\n";
}

}  // namespace

std::string sweep_svg(const SweepReport& report, const Layout&) {
    const Picture p = picture_of(map_of(report));
    const int panels = static_cast<int>(p.map.panels.size());
    const int rows = (panels + p.in_line() - 1) / p.in_line();
    const int legend_top = kHead + rows * p.panel_height() + 10;
    const int height = legend_top + legend_height(p) + kMargin;
    std::string out = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
        "viewBox=\"0 0 {0} {1}\">\n",
        p.width(), height);
    out += definitions(p) + fmt::format("<rect width=\"{}\" height=\"{}\" class=\"page\"/>\n", p.width(), height);
    const SweepQuestion& question = report.widest();
    const bool several = std::find(report.choices.begin(), report.choices.end(), "model") != report.choices.end();
    const bool cards = std::find(report.choices.begin(), report.choices.end(), "gpu") != report.choices.end();
    out += text_at(kMargin, 32,
                   fmt::format("{} on {}", several ? "several models" : question.model.name,
                               cards ? "several GPUs" : question.device.name),
                   "class=\"title\"");
    out +=
        text_at(kMargin, 54,
                cards ? "GiB that the run requests at its highest moment; colour: which peak that is"
                      : fmt::format("GiB that the run requests at its highest moment, of {:.2f} usable; colour: which "
                                    "peak that is",
                                    static_cast<double>(question.device.usable.count) / static_cast<double>(kGiB)));
    for (int i = 0; i < panels; ++i)
        out +=
            panel(p, p.map.panels[static_cast<std::size_t>(i)], kMargin + (i % p.in_line()) * (p.panel_width() + kGap),
                  kHead + (i / p.in_line()) * p.panel_height());
    return out + legend(p, legend_top) + "</svg>\n";
}

}  // namespace vramfit::report
