// A sweep as a page: the ranking and a map of any two axes; the data for src/report/html/sweep.js.
#include <fmt/format.h>

#include <algorithm>

#include "report/documents.hpp"
#include "report/html/assets.hpp"
#include "report/html/page.hpp"
#include "spec/json_value.hpp"

namespace vramfit::report {

namespace {

constexpr std::size_t kMostMappedRows = 20'000;

std::string json_text(std::string_view text) {
    std::string out = to_text(JsonValue::of(text));
    out.pop_back();
    return out;
}

std::vector<std::string> axis_names(const SweepReport& report) {
    std::vector<std::string> out = {"seq", "batch", "rank", "targets"};
    out.insert(out.end(), report.choices.begin(), report.choices.end());
    return out;
}

std::vector<std::string> axis_values(const SweepReport& report, const SweepRow& row) {
    const SweepQuestion& question = report.question_of(row);
    const Coordinates c = report.coordinates(row);
    std::vector<std::string> out = {std::to_string(question.space.lengths[c.length]),
                                    std::to_string(question.space.batches[c.batch])};
    const bool adapters = question.base.peft.has_value();
    out.push_back(adapters ? std::to_string(question.space.ranks[c.rank]) : "-");
    out.push_back(adapters ? question.space.targets[c.target].name : "-");
    if (!report.choices.empty())
        out.insert(out.end(), report.chosen[row.question].begin(), report.chosen[row.question].end());
    return out;
}

/// What is known of a row: 0 nothing, 1 fits, 2 is tight, 3 does not fit.
int outcome_of(const SweepRow& row) {
    if (row.status == RowStatus::ruled_out) return 3;
    if (row.status != RowStatus::simulated) return 0;
    if (!row.verdict) return 0;
    if (row.verdict == Verdict::fits) return 1;
    return row.verdict == Verdict::tight ? 2 : 3;
}

/// [axis values as indices, outcome, peak, requested, reserved, used], and of ranked rows the command.
class SweepData {
  public:
    explicit SweepData(const SweepReport& report) : report_(report), values_(axis_names(report).size()) {}

    std::string json() {
        std::string ranked, mapped;
        const std::size_t shown = std::min(report_.top, report_.result.ranking.size());
        for (std::size_t i = 0; i < shown; ++i) {
            const SweepRow& row = report_.result.rows[report_.result.ranking[i]];
            ranked += fmt::format("{}[{},{}]", i == 0 ? "" : ",\n", row_of(row),
                                  json_text(fmt::format("{}", fmt::join(command_of(report_, row), " "))));
        }
        const bool map = report_.result.rows.size() <= kMostMappedRows;
        for (std::size_t i = 0; map && i < report_.result.rows.size(); ++i)
            mapped += fmt::format("{}[{}]", i == 0 ? "" : ",\n", row_of(report_.result.rows[i]));
        std::string axes;
        const std::vector<std::string> names = axis_names(report_);
        for (std::size_t i = 0; i < names.size(); ++i)
            axes += fmt::format("{}[{},[{}]]", i == 0 ? "" : ",", json_text(names[i]), list(values_[i]));
        const SweepQuestion& question = report_.widest();
        return fmt::format(
            "{{\"axes\":[{}],\n\"peaks\":[{}],\n\"usable\":{},\n\"map\":[{}],\n\"ranked\":[{}],\n\"rows\":[{}]}}", axes,
            list(peaks_), question.device.capacity_known ? question.device.usable.count : 0, list(report_.map), ranked,
            mapped);
    }

  private:
    static std::string list(const std::vector<std::string>& texts) {
        std::string out;
        for (const std::string& text : texts) out += fmt::format("{}{}", out.empty() ? "" : ",", json_text(text));
        return out;
    }
    static std::size_t number_in(std::vector<std::string>& known, const std::string& value) {
        const auto found = std::find(known.begin(), known.end(), value);
        if (found != known.end()) return static_cast<std::size_t>(found - known.begin());
        known.push_back(value);
        return known.size() - 1;
    }

    std::string row_of(const SweepRow& row) {
        std::string out;
        const std::vector<std::string> values = axis_values(report_, row);
        for (std::size_t i = 0; i < values.size(); ++i) out += fmt::format("{},", number_in(values_[i], values[i]));
        const std::int64_t peak = row.peak ? static_cast<std::int64_t>(number_in(peaks_, row.peak->name)) : -1;
        return out + fmt::format("{},{},{},{},{:.5f}", outcome_of(row), peak, row.requested_on_card(), row.reserved,
                                 report_.question_of(row).utilization(row.requested_on_card()));
    }

    const SweepReport& report_;
    std::vector<std::vector<std::string>> values_;  ///< by axis
    std::vector<std::string> peaks_;
};

}  // namespace

std::string sweep_html(const SweepReport& report, const Layout&) {
    const SweepQuestion& question = report.widest();
    const SweepCounts& counts = report.result.counts;
    const auto choice = [&](const char* name) {
        return std::find(report.choices.begin(), report.choices.end(), name) != report.choices.end();
    };
    const auto fitting = std::count_if(report.result.rows.begin(), report.result.rows.end(),
                                       [](const SweepRow& row) { return outcome_of(row) == 1; });
    HtmlPage page;
    page.title = fmt::format("{} on {}", choice("model") ? "several models" : question.model.name,
                             choice("gpu") ? "several GPUs" : question.device.name);
    page.body = fmt::format(
        "<h1>{}: what fits</h1>\n<p>{} of {} configurations fit{}.</p>\n<h2>Best</h2>\n<div id=\"ranking\"></div>\n"
        "<h2>Map</h2>\n<div id=\"map\"></div>\n",
        html_escaped(page.title), fitting, counts.total,
        choice("gpu") ? "" : html_escaped(fmt::format(" {} usable", size_text(question.device.usable.count))));
    if (report.result.rows.size() > kMostMappedRows)
        page.body += fmt::format("<p>There are too many configurations for a map on a page ({} at most).</p>\n",
                                 kMostMappedRows);
    for (const Note& note : report.result.notes)
        page.body += fmt::format("<p class=\"quiet\">note: {}{}</p>\n", html_escaped(note.text),
                                 note.hint.empty() ? "" : html_escaped(fmt::format("; {}", note.hint)));
    page.data = SweepData(report).json();
    page.script = sweep_js();
    return html_of(page);
}

}  // namespace vramfit::report
