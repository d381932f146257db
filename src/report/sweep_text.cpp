// The document of a sweep for people.
#include <fmt/format.h>

#include <algorithm>

#include "base/split.hpp"
#include "base/text_table.hpp"
#include "report/documents.hpp"
#include "report/plan_text.hpp"
#include "report/verdict_text.hpp"

namespace vramfit::report {

namespace {

std::string gib(std::int64_t bytes) {
    return fmt::format("{:.2f} GiB", static_cast<double>(bytes) / static_cast<double>(kGiB));
}

/// What all questions have in common; what differs between them stands in the table.
std::vector<Line> common_lines(const SweepReport& report) {
    const auto lines_of = [](const SweepQuestion& q) {
        std::vector<Line> lines = {{"model", q.model.name}};
        for (Line& line : describe(q.base, q.stack, Axes::listed)) lines.push_back(std::move(line));
        lines.push_back({"GPU", describe(q.device)});
        return lines;
    };
    std::vector<Line> out = lines_of(report.questions.front());
    for (const SweepQuestion& q : report.questions) {
        const std::vector<Line> other = lines_of(q);
        for (Line& line : out) {
            const auto same = [&line](const Line& o) { return o.key == line.key && o.value == line.value; };
            if (std::none_of(other.begin(), other.end(), same)) line.value = "as listed";
        }
    }
    return out;
}

std::string head(const SweepReport& report, int width) {
    std::string out;
    for (const Line& line : common_lines(report))
        out += wrapped(line.value, width, fmt::format("{:<17}", line.key), std::string(17, ' '));
    return out;
}

/// "--min-rank 8, --effective-batch 64".
std::string text_of_bounds(const SweepReport& report) {
    std::vector<std::string> out;
    for (const SweepBound& bound : report.bounds) out.push_back(fmt::format("{} {}", bound.where, bound.low));
    return fmt::format("{}", fmt::join(out, ", "));
}

std::string counts(const SweepReport& report) {
    const SweepCounts& n = report.result.counts;
    if (!report.largest.empty())
        return fmt::format(
            "searched for the largest {}: {} of {} rows looked at by formulas from {} recording{}, {} replayed{}",
            report.largest, n.simulated, n.total, n.recorded, n.recorded == 1 ? "" : "s", n.replayed,
            report.result.stopped ? "; stopped before its end" : "");
    std::string out = fmt::format(
        "searched {} configuration{}: {} simulated from {} recording{} ({} replayed), {} ruled out, {} invalid",
        n.total, n.total == 1 ? "" : "s", n.simulated, n.recorded, n.recorded == 1 ? "" : "s", n.replayed, n.ruled_out,
        n.invalid);
    const SweepResult& result = report.result;
    if (!result.problem.empty())
        out += fmt::format(" ({}{})", result.problem, result.other_problems ? ", among others" : "");
    if (n.outside > 0) out += fmt::format(", {} outside {}", n.outside, text_of_bounds(report));
    if (n.open > 0) out += fmt::format(", {} not looked at", n.open);
    if (report.result.stopped) out += "; stopped before its end";
    return out;
}

/// What the table holds, where it is not simply the rows that are closest to the card's capacity.
std::string order_of(const SweepReport& report) {
    const SweepSelection& selection = report.selection;
    const std::string by = selection.sort ? fmt::format("most first: {}", selection.sort->help) : "";
    if (!selection.pareto.empty()) {
        std::vector<std::string> axes;
        for (const SweepMeasure* axis : selection.pareto) axes.emplace_back(axis->name);
        return fmt::format("Pareto front of {}: no other row that fits has at least as much of each",
                           fmt::join(axes, ", "));
    }
    if (report.group.empty()) return by;
    return fmt::format("the best {} for each value of {}, {}", selection.top, report.group,
                       by.empty() ? "closest to the GPU's capacity first" : by);
}

/// Measures that stand in no column by themselves, and are asked for.
std::vector<const SweepMeasure*> more_columns(const SweepReport& report) {
    std::vector<const SweepMeasure*> asked = report.selection.pareto;
    if (report.selection.sort) asked.push_back(report.selection.sort);
    for (const SweepBound& bound : report.bounds)
        if (bound.high > bound.low) asked.push_back(bound.measure);
    std::vector<const SweepMeasure*> out;
    for (const char* name : {"effective-batch", "tokens"})
        if (std::find(asked.begin(), asked.end(), find_measure(name)) != asked.end()) out.push_back(find_measure(name));
    return out;
}

TextTable columns_of(const SweepReport& report, const std::vector<std::size_t>& choices) {
    TextTable table;
    table.columns = {{"#", Align::right, 1, 0}};
    for (const std::size_t choice : choices) table.columns.push_back({report.choices[choice], Align::left});
    if (report.widest().base.peft)
        table.columns.insert(table.columns.end(), {{"targets", Align::left, 0, '+'}, {"rank", Align::right}});
    table.columns.insert(table.columns.end(), {{"batch", Align::right}, {"seq", Align::right}});
    for (const SweepMeasure* measure : more_columns(report)) table.columns.push_back({measure->name, Align::right});
    table.columns.insert(table.columns.end(), {{"requested", Align::right},
                                               {"reserved", Align::right},
                                               {"used", Align::right, 2},
                                               {"highest peak", Align::left, 5}});
    if (!report.largest.empty()) table.columns.push_back({"found by", Align::left, 4});
    return table;
}

/// The rows that are shown, in order.
std::vector<const SweepRow*> shown_rows(const SweepReport& report) {
    std::vector<const SweepRow*> out;
    for (std::size_t i = 0; i < std::min(report.top, report.result.ranking.size()); ++i)
        out.push_back(&report.result.rows[report.result.ranking[i]]);
    return out;
}

/// The table with columns for these choices.
std::string table_of(const SweepReport& report, const std::vector<std::size_t>& choices, int width) {
    TextTable table = columns_of(report, choices);
    const bool any_adapters = report.widest().base.peft.has_value();
    const std::vector<const SweepRow*> shown = shown_rows(report);
    for (std::size_t i = 0; i < shown.size(); ++i) {
        const SweepRow& row = *shown[i];
        const SweepQuestion& question = report.question_of(row);
        const SweepSpace& space = question.space;
        const Coordinates c = report.coordinates(row);
        std::vector<std::string>& cells = table.rows.emplace_back();
        cells = {std::to_string(i + 1)};
        for (const std::size_t choice : choices) cells.push_back(report.chosen[row.question][choice]);
        if (question.base.peft)
            cells.insert(cells.end(), {space.targets[c.target].name, std::to_string(space.ranks[c.rank])});
        else if (any_adapters)
            cells.insert(cells.end(), {"-", "-"});
        cells.insert(cells.end(), {std::to_string(space.batches[c.batch]), std::to_string(space.lengths[c.length])});
        for (const SweepMeasure* measure : more_columns(report))
            cells.push_back(std::to_string(measure->of_plan(question, c).value_or(0)));
        cells.insert(cells.end(), {gib(row.requested_on_card()), gib(row.reserved),
                                   fmt::format("{:.1f} %", 100.0 * question.utilization(row.requested_on_card())),
                                   row.peak ? row.peak->name : ""});
        if (!report.largest.empty()) cells.emplace_back(found_by(report.largest_rows[i].how));
    }
    return text_of(table, width);
}

/// Where the best row has the largest value of an axis, larger ones may fit as well. Axes that were taken as far as
/// anything fits have no such end.
std::string open_ends(const SweepReport& report) {
    const SweepRow& best = report.result.rows[report.result.ranking.front()];
    const SweepQuestion& question = report.question_of(best);
    const SweepSpace& space = question.space;
    const Coordinates at = report.coordinates(best);
    const WidenedAxes widened = report.widened.empty() ? WidenedAxes{} : report.widened[best.question];
    std::vector<std::string> ends;
    const auto add = [&](const char* name, const std::vector<std::int64_t>& axis, std::size_t place) {
        const std::int64_t largest = *std::max_element(axis.begin(), axis.end());
        if (axis.size() > 1 && axis[place] == largest) ends.push_back(fmt::format("{} ({})", name, largest));
    };
    if (question.base.peft && report.largest != "rank") add("--rank", space.ranks, at.rank);
    if (!widened.batch && report.largest != "batch") add("--batch", space.batches, at.batch);
    const bool all_positions = space.lengths[at.length] >= question.model.max_position_embeddings;
    if (!widened.length && !all_positions && report.largest != "seq") add("--seq", space.lengths, at.length);
    if (ends.empty()) return {};
    std::string list = ends.back();
    ends.pop_back();
    if (!ends.empty()) list = fmt::format("{} and {}", fmt::join(ends, ", "), list);
    return fmt::format("The best row has the largest value searched of {}: larger ones may fit as well.", list);
}

std::string nothing_fits(const SweepReport& report, int width) {
    if (!report.result.nearest) return "No configuration fits.\n";
    const NearestMiss& miss = *report.result.nearest;
    const std::string how =
        miss.verdict == Verdict::tight  ? std::string("is tight: it fits unless what is assumed turns out badly")
        : miss.verdict == Verdict::fits ? std::string("fits by itself")
                                        : fmt::format("reserves {}, {} more than the GPU has for it",
                                                      size_text(miss.reserved), size_text(miss.missing));
    return wrapped(fmt::format("No configuration fits{}. The nearest miss {}:",
                               miss.verdict == Verdict::tight ? " for certain" : "", how),
                   width) +
           wrapped(command_of(report, report.result.rows[miss.number]), width, "  ", "    ", " \\");
}

std::string notes(const SweepReport& report, int width) {
    Notes unusual;
    for (const Note& note : report.result.notes)
        if (!is_usual(note)) unusual.push_back(note);
    std::string out = describe(unusual, width);
    const Device& device = report.questions.front().device;
    const std::string assumed = assumed_text(device, device.assumptions);
    if (!assumed.empty())
        out += wrapped(fmt::format("{} The command of a row with --details says what to measure.", assumed), width);
    return out.empty() ? out : "\n" + out;
}

/// "gemma-2b on 8.00 GiB: the rows that fit and are closest to the GPU's capacity".
std::string headline(const SweepReport& report) {
    std::vector<std::string> models, devices;
    const auto add = [](std::vector<std::string>& names, const std::string& name) {
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    };
    for (const SweepQuestion& q : report.questions) {
        add(models, q.model.name);
        add(devices, q.device.name);
    }
    const std::string run = fmt::format("{} on {}", fmt::join(models, ", "), fmt::join(devices, ", "));
    if (report.result.ranking.empty()) return run;
    if (!report.largest.empty())
        return fmt::format("{}: the largest {} that fits, for {} of {} combination{} of the other axes", run,
                           report.largest, report.largest_rows.size(), report.combinations,
                           report.combinations == 1 ? "" : "s");
    const std::string order = order_of(report);
    return fmt::format("{}: {}", run,
                       order.empty() ? "what fits, closest to the GPU's capacity first" : "what fits, " + order);
}

bool is_wider(std::string_view text, int width) {
    for (const std::string_view line : split(text, '\n'))
        if (width_of(line) > width) return true;
    return false;
}

/// Choices that are the same in all rows stand above a table that is too wide with them.
std::string ranking(const SweepReport& report, const Layout& layout) {
    const int width = layout.table_width;
    std::vector<std::size_t> all, differing;
    std::vector<std::string> same;
    const std::vector<const SweepRow*> shown = shown_rows(report);
    for (std::size_t choice = 0; choice < report.choices.size(); ++choice) {
        all.push_back(choice);
        const auto value = [&](const SweepRow* row) { return report.chosen[row->question][choice]; };
        if (std::all_of(shown.begin(), shown.end(), [&](const SweepRow* r) { return value(r) == value(shown[0]); }))
            same.push_back(fmt::format("{} {}", report.choices[choice], value(shown[0])));
        else
            differing.push_back(choice);
    }
    std::string whole = table_of(report, all, width);
    if (same.empty() || !is_wider(whole, width)) return whole;
    return wrapped(fmt::format("all of them: {}", fmt::join(same, ", ")), layout.width) +
           table_of(report, differing, width);
}

}  // namespace

const char* found_by(LargestHow how) {
    switch (how) {
        case LargestHow::bisection: return "bisection";
        case LargestHow::scan: return "scan";
        case LargestHow::end_of_range: break;
    }
    return "end of range";
}

std::vector<std::string> command_of(const SweepReport& report, const SweepRow& row) {
    const SweepQuestion& question = report.question_of(row);
    const SweepSpace& space = question.space;
    const Coordinates c = report.coordinates(row);
    std::vector<std::string> words = report.commands[row.question];
    if (question.base.peft && wraps_modules(facts_of(question.base.peft->kind))) {
        std::string targets = space.targets[c.target].name;
        std::replace(targets.begin(), targets.end(), '+', ',');
        words.push_back(fmt::format("--targets {}", targets));
        if (facts_of(question.base.peft->kind).has_rank())
            words.push_back(fmt::format("--rank {}", space.ranks[c.rank]));
    }
    words.push_back(fmt::format("--batch {}", space.batches[c.batch]));
    words.push_back(fmt::format("--seq {}", space.lengths[c.length]));
    return words;
}

std::string sweep_text(const SweepReport& report, const Layout& layout) {
    const int width = layout.width;
    std::string out = wrapped(headline(report), width) + "\n";
    if (report.result.ranking.empty()) {
        out += nothing_fits(report, width);
    } else {
        out += ranking(report, layout);
        out += wrapped("used: requested bytes of the highest moment by what the GPU leaves to tensors", width, "\n");
        if (const std::string ends = open_ends(report); !ends.empty()) out += wrapped(ends, width);
        out += "\nThe first row alone:\n";
        out += wrapped(command_of(report, report.result.rows[report.result.ranking[0]]), width, "  ", "    ", " \\");
    }
    out += fmt::format("\n{}", wrapped(counts(report), width));
    if (report.shard.of > 1) out += fmt::format("part {} of {}\n", report.shard.part, report.shard.of);
    out += "\n" + head(report, width) + notes(report, width);
    return out;
}

}  // namespace vramfit::report
