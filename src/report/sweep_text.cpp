// The document of a sweep for people.
#include <fmt/format.h>

#include <algorithm>

#include "base/text_table.hpp"
#include "report/documents.hpp"
#include "report/plan_text.hpp"

namespace vramfit::report {

namespace {

std::string gib(std::int64_t bytes) {
    return fmt::format("{:.2f} GiB", static_cast<double>(bytes) / static_cast<double>(kGiB));
}

std::string head(const SweepReport& report, int width) {
    std::vector<Line> lines = {{"model", report.question.model.name}};
    for (Line& line : describe(report.question.base, report.question.stack, Axes::listed))
        lines.push_back(std::move(line));
    lines.push_back({"card", describe(report.question.device)});
    std::string out;
    for (const Line& line : lines)
        out += wrapped(line.value, width, fmt::format("{:<17}", line.key), std::string(17, ' '));
    return out;
}

std::string ranking(const SweepReport& report, int width) {
    const bool adapters = report.question.base.peft.has_value();
    TextTable table;
    table.columns = {{"#", Align::right, 1, 0}};
    if (adapters) table.columns.insert(table.columns.end(), {{"targets", Align::left, 0, '+'}, {"rank", Align::right}});
    table.columns.insert(table.columns.end(), {{"batch", Align::right},
                                               {"seq", Align::right},
                                               {"requested", Align::right},
                                               {"reserved", Align::right, 3},
                                               {"used", Align::right, 2},
                                               {"highest peak", Align::left, 4}});
    const SweepSpace& space = report.question.space;
    for (std::size_t i = 0; i < std::min(report.top, report.result.ranking.size()); ++i) {
        const SweepRow& row = report.result.rows[report.result.ranking[i]];
        const Coordinates c = coordinates_of(space, row.number);
        std::vector<std::string>& cells = table.rows.emplace_back();
        cells = {std::to_string(i + 1)};
        if (adapters) cells.insert(cells.end(), {space.targets[c.target].name, std::to_string(space.ranks[c.rank])});
        cells.insert(cells.end(), {std::to_string(space.batches[c.batch]), std::to_string(space.lengths[c.length]),
                                   gib(row.requested), gib(row.reserved),
                                   fmt::format("{:.1f} %", 100.0 * row.utilization), row.peak});
    }
    return text_of(table, width);
}

std::string counts(const SweepCounts& n) {
    return fmt::format("{} configuration{}: {} simulated from {} recording{} ({} replayed), {} ruled out, {} invalid",
                       n.total, n.total == 1 ? "" : "s", n.simulated, n.recorded, n.recorded == 1 ? "" : "s",
                       n.replayed, n.ruled_out, n.invalid);
}

}  // namespace

std::vector<std::string> command_of(const SweepReport& report, std::size_t row) {
    const SweepSpace& space = report.question.space;
    const Coordinates c = coordinates_of(space, row);
    std::vector<std::string> words = report.command;
    if (report.question.base.peft) {
        std::string targets = space.targets[c.target].name;
        std::replace(targets.begin(), targets.end(), '+', ',');
        words.push_back(fmt::format("--targets {}", targets));
        words.push_back(fmt::format("--rank {}", space.ranks[c.rank]));
    }
    words.push_back(fmt::format("--batch {}", space.batches[c.batch]));
    words.push_back(fmt::format("--seq {}", space.lengths[c.length]));
    return words;
}

std::string sweep_text(const SweepReport& report, const Layout& layout) {
    const int width = layout.width;
    std::string out = fmt::format("{}\n{}\n", head(report, width), wrapped(counts(report.result.counts), width));
    if (report.result.ranking.empty()) {
        out += "No configuration fits.\n";
    } else {
        out += ranking(report, width);
        out += wrapped("used: requested bytes of the highest moment by what the card leaves to tensors", width, "\n");
        out += "\nThe first row alone:\n";
        out += wrapped(command_of(report, report.result.ranking[0]), width, "  ", "    ", " \\");
    }
    if (!report.result.notes.empty()) out += "\n" + describe(report.result.notes, width);
    return out;
}

}  // namespace vramfit::report
