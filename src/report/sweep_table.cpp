// The ranking of a sweep as a table of plain values: CSV for spreadsheets, Markdown for documents.
#include <fmt/format.h>

#include <algorithm>

#include "report/documents.hpp"

namespace vramfit::report {

namespace {

using Cells = std::vector<std::string>;

Cells header_of(const SweepReport& report) {
    Cells out = {"place", "row"};
    out.insert(out.end(), report.choices.begin(), report.choices.end());
    for (const char* name : {"targets", "rank", "batch", "sequence_length", "requested", "allocated", "reserved",
                             "utilization", "peak", "command"})
        out.emplace_back(name);
    return out;
}

/// Without adapters, targets and rank are empty.
Cells cells_of(const SweepReport& report, std::size_t place) {
    const SweepRow& row = report.result.rows[report.result.ranking[place]];
    const SweepQuestion& question = report.question_of(row);
    const SweepSpace& space = question.space;
    const Coordinates c = report.coordinates(row);
    Cells out = {std::to_string(place + 1), std::to_string(row.number)};
    if (!report.choices.empty())
        out.insert(out.end(), report.chosen[row.question].begin(), report.chosen[row.question].end());
    const bool adapters = question.base.peft.has_value();
    out.push_back(adapters ? space.targets[c.target].name : "");
    out.push_back(adapters ? std::to_string(space.ranks[c.rank]) : "");
    for (const std::int64_t n :
         {space.batches[c.batch], space.lengths[c.length], row.requested_on_card(), row.allocated, row.reserved})
        out.push_back(std::to_string(n));
    out.push_back(fmt::format("{:.6f}", question.utilization(row.requested_on_card())));
    out.emplace_back(row.peak ? row.peak->name : "");
    out.push_back(fmt::format("{}", fmt::join(command_of(report, row), " ")));
    return out;
}

std::size_t shown(const SweepReport& report) { return std::min(report.top, report.result.ranking.size()); }

/// RFC 4180: quotes around what has a comma, a quote or a line break; quotes inside are doubled.
std::string csv_cell(const std::string& cell) {
    if (cell.find_first_of(",\"\r\n") == std::string::npos) return cell;
    std::string out = "\"";
    for (const char c : cell) {
        if (c == '"') out += '"';
        out += c;
    }
    return out + '"';
}

std::string csv_line(const Cells& cells) {
    std::string out;
    for (const std::string& cell : cells) out += (out.empty() ? "" : ",") + csv_cell(cell);
    return out + "\n";
}

std::string markdown_line(const Cells& cells) {
    std::string out = "|";
    for (const std::string& cell : cells) {
        out += ' ';
        for (const char c : cell) {
            if (c == '|') out += '\\';
            out += c;
        }
        out += " |";
    }
    return out + "\n";
}

}  // namespace

std::string sweep_csv(const SweepReport& report, const Layout&) {
    std::string out = csv_line(header_of(report));
    for (std::size_t i = 0; i < shown(report); ++i) out += csv_line(cells_of(report, i));
    return out;
}

std::string sweep_markdown(const SweepReport& report, const Layout&) {
    const Cells header = header_of(report);
    std::string out = markdown_line(header) + markdown_line(Cells(header.size(), "---"));
    for (std::size_t i = 0; i < shown(report); ++i) out += markdown_line(cells_of(report, i));
    return out;
}

}  // namespace vramfit::report
