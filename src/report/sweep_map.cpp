// Rows of a sweep by the values of two axes.
#include "report/sweep_map.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "vramfit/base/error.hpp"
#include "vramfit/spec/suggest.hpp"

namespace vramfit::report {

namespace {

constexpr std::size_t kMostPanels = 16;
constexpr std::size_t kMostValues = 64;

std::vector<std::string> axes_of(const SweepReport& report) {
    std::vector<std::string> out = {"seq", "batch"};
    if (report.widest().base.peft) out.insert(out.end(), {"rank", "targets"});
    out.insert(out.end(), report.choices.begin(), report.choices.end());
    return out;
}

std::string label_of(const SweepReport& report, const SweepRow& row, const std::string& axis) {
    const SweepQuestion& question = report.question_of(row);
    const SweepSpace& space = question.space;
    const Coordinates c = report.coordinates(row);
    if (axis == "seq") return std::to_string(space.lengths[c.length]);
    if (axis == "batch") return std::to_string(space.batches[c.batch]);
    if (axis == "rank") return question.base.peft ? std::to_string(space.ranks[c.rank]) : "-";
    if (axis == "targets") return question.base.peft ? space.targets[c.target].name : "-";
    const auto choice = std::find(report.choices.begin(), report.choices.end(), axis);
    return report.chosen[row.question][static_cast<std::size_t>(choice - report.choices.begin())];
}

/// The values of an axis: numbers by size, words in the order in which they come.
std::vector<std::string> values_of(const SweepReport& report, const std::string& axis) {
    std::vector<std::string> out;
    for (const SweepRow& row : report.result.rows) {
        std::string label = label_of(report, row, axis);
        if (std::find(out.begin(), out.end(), label) == out.end()) out.push_back(std::move(label));
        if (out.size() > kMostValues)
            throw Error(ErrorKind::invalid, "--map", fmt::format("'{}' has more than {} values", axis, kMostValues),
                        "a map can be read with fewer");
    }
    const auto is_number = [](const std::string& s) { return s.find_first_not_of("0123456789") == s.npos; };
    if (std::all_of(out.begin(), out.end(), is_number))
        std::stable_sort(out.begin(), out.end(), [](const std::string& a, const std::string& b) {
            return a.size() != b.size() ? a.size() < b.size() : a < b;
        });
    return out;
}

/// The two that are asked for, or the two with most values.
std::vector<std::string> chosen_axes(const SweepReport& report) {
    const std::vector<std::string> known = axes_of(report);
    const std::vector<std::string_view> words(known.begin(), known.end());
    for (const std::string& axis : report.map)
        if (std::find(known.begin(), known.end(), axis) == known.end())
            throw Error(ErrorKind::invalid, "--map", fmt::format("unknown axis '{}'", axis),
                        did_you_mean(axis, words, fmt::format("known: {}", fmt::join(known, ", "))));
    if (!report.map.empty()) return report.map;
    std::vector<std::string> out = known;
    std::stable_sort(out.begin(), out.end(), [&](const std::string& a, const std::string& b) {
        return values_of(report, a).size() > values_of(report, b).size();
    });
    out.resize(2);
    return out;
}

std::size_t index_in(const std::vector<std::string>& values, const std::string& value) {
    return static_cast<std::size_t>(std::find(values.begin(), values.end(), value) - values.begin());
}

}  // namespace

SweepMap map_of(const SweepReport& report) {
    const std::vector<std::string> axes = chosen_axes(report);
    SweepMap map{axes[0], axes[1], values_of(report, axes[0]), values_of(report, axes[1]), {}};
    std::vector<std::string> others;
    for (const std::string& axis : axes_of(report))
        if (axis != map.x && axis != map.y && values_of(report, axis).size() > 1) others.push_back(axis);
    for (const SweepRow& row : report.result.rows) {
        std::vector<std::string> words;
        for (const std::string& axis : others) words.push_back(fmt::format("{} {}", axis, label_of(report, row, axis)));
        const std::string title = fmt::format("{}", fmt::join(words, ", "));
        auto panel = std::find_if(map.panels.begin(), map.panels.end(),
                                  [&title](const MapPanel& p) { return p.title == title; });
        if (panel == map.panels.end()) {
            if (map.panels.size() == kMostPanels)
                throw Error(
                    ErrorKind::invalid, "--map",
                    fmt::format("more than {} maps, for each combination of {}", kMostPanels, fmt::join(others, ", ")),
                    "give these axes fewer values");
            map.panels.push_back({title, std::vector<const SweepRow*>(map.columns.size() * map.lines.size(), nullptr)});
            panel = map.panels.end() - 1;
        }
        const std::size_t column = index_in(map.columns, label_of(report, row, map.x));
        const std::size_t line = index_in(map.lines, label_of(report, row, map.y));
        panel->cells[line * map.columns.size() + column] = &row;
    }
    return map;
}

}  // namespace vramfit::report
