// The document of a sweep for people.
#include <fmt/format.h>

#include "base/text_table.hpp"
#include "report/documents.hpp"
#include "report/plan_text.hpp"

namespace vramfit::report {

namespace {

std::string gib(std::int64_t bytes) {
    return fmt::format("{:.2f} GiB", static_cast<double>(bytes) / static_cast<double>(kGiB));
}

TextTable ranking(const SweepReport& report) {
    TextTable table;
    table.columns = {{"#", Align::right, 0},        {"targets", Align::left, 0}, {"rank", Align::right, 0},
                     {"batch", Align::right, 0},    {"seq", Align::right, 0},    {"requested", Align::right, 0},
                     {"reserved", Align::right, 2}, {"used", Align::right, 0},   {"highest peak", Align::left, 3}};
    const SweepSpace& space = report.question.space;
    for (std::size_t i = 0; i < std::min(report.top, report.result.ranking.size()); ++i) {
        const SweepRow& row = report.result.rows[report.result.ranking[i]];
        const Coordinates c = coordinates_of(space, row.number);
        table.rows.push_back({fmt::format("{}", i + 1), space.targets[c.target].name,
                              fmt::format("{}", space.ranks[c.rank]), fmt::format("{}", space.batches[c.batch]),
                              fmt::format("{}", space.lengths[c.length]), gib(row.requested), gib(row.reserved),
                              fmt::format("{:.1f} %", 100.0 * row.utilization), row.peak});
    }
    return table;
}

}  // namespace

std::string command_of(const SweepReport& report, std::size_t row) {
    const SweepSpace& space = report.question.space;
    const Coordinates c = coordinates_of(space, row);
    return fmt::format("{} --targets {} --rank {} --batch {} --seq {}", report.command,
                       fmt::join(space.targets[c.target].modules, ","), space.ranks[c.rank], space.batches[c.batch],
                       space.lengths[c.length]);
}

std::string sweep_text(const SweepReport& report, const Layout& layout) {
    const SweepResult& result = report.result;
    std::string out;
    TextTable head;
    head.columns = {{"", Align::left, 0}, {"", Align::left, 0}};
    head.rows.push_back({"model", report.question.model.name});
    for (const Line& line : describe(report.question.base, report.question.stack))
        if (line.key != "batch") head.rows.push_back({line.key, line.value});
    head.rows.push_back({"card", describe(report.question.device)});
    for (const auto& row : head.rows)
        out += wrapped(row[1], layout.width, fmt::format("{:<17}", row[0]), std::string(17, ' '));
    const SweepCounts& n = result.counts;
    out += fmt::format("\n{} configurations: {} simulated ({} replayed), {} ruled out, {} invalid\n\n", n.total,
                       n.simulated, n.replayed, n.ruled_out, n.invalid);
    if (result.ranking.empty()) return out + "No configuration fits.\n";
    out += text_of(ranking(report), layout.width);
    out += wrapped("used: requested bytes of the highest moment by what the card leaves to tensors", layout.width, "\n",
                   "");
    out += wrapped(command_of(report, result.ranking[0]), layout.width, "\nthe first row alone: ", "  ");
    return out;
}

}  // namespace vramfit::report
