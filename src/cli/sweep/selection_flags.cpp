// Reads constraints and objectives.
#include "cli/sweep/selection_flags.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

#include <fmt/format.h>

#include "base/split.hpp"
#include "cli/flags/axes.hpp"
#include "cli/flags/values.hpp"
#include "cli/help.hpp"
#include "cli/words.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::cli {

namespace {

std::vector<std::string_view> measure_names() {
    std::vector<std::string_view> names;
    for (const SweepMeasure& measure : sweep_measures()) names.emplace_back(measure.name);
    return names;
}

const SweepMeasure& measure_from(std::string_view name, const std::string& where) {
    if (const SweepMeasure* found = find_measure(name)) return *found;
    const std::vector<std::string_view> names = measure_names();
    return sweep_measures()[choice_from(name, where, names)];  // throws
}

std::vector<const SweepMeasure*> measures_from(std::string_view text, const std::string& where) {
    std::vector<const SweepMeasure*> out;
    for (const std::string_view name : split(text, ',')) {
        const SweepMeasure* measure = &measure_from(name, where);
        if (std::find(out.begin(), out.end(), measure) != out.end())
            throw Error(ErrorKind::invalid, where, fmt::format("'{}' is given twice", name), "keep one of the two");
        out.push_back(measure);
    }
    return out;
}

void add_bound(const std::string& text, const char* flag, const char* measure, bool exactly, SweepReport& report) {
    if (text.empty()) return;
    SweepBound bound;
    bound.measure = find_measure(measure);
    bound.low = integer_from(text, flag);
    if (exactly) bound.high = bound.low;
    bound.where = flag;
    report.bounds.push_back(std::move(bound));
}

/// The places of a word among words, in the order in which they come.
std::size_t place_in(std::vector<std::string>& words, const std::string& word) {
    const auto known = std::find(words.begin(), words.end(), word);
    if (known != words.end()) return static_cast<std::size_t>(known - words.begin());
    words.push_back(word);
    return words.size() - 1;
}

/// Sets of targets by their names over all questions, as numbers: by question and place on the axis.
std::vector<std::vector<std::size_t>> numbered_targets(const std::vector<SweepQuestion>& questions) {
    std::vector<std::string> names;
    std::vector<std::vector<std::size_t>> out;
    for (const SweepQuestion& q : questions) {
        auto& own = out.emplace_back();
        for (const TargetSet& set : q.space.targets) own.push_back(place_in(names, set.name));
    }
    return out;
}

std::function<std::size_t(RowPlace)> group_by(const std::string& axis, const SweepReport& report) {
    const auto& questions = report.questions;
    if (axis == "targets")
        return [numbers = numbered_targets(questions), &questions](RowPlace row) {
            return numbers[row.question][coordinates_of(questions[row.question].space, row.place).target];
        };
    if (axis == "rank" || axis == "batch" || axis == "seq") {
        const SweepMeasure* measure = find_measure(axis);
        return [measure, &questions](RowPlace row) {
            const SweepQuestion& q = questions[row.question];
            return static_cast<std::size_t>(measure->of_plan(q, coordinates_of(q.space, row.place)).value_or(0));
        };
    }
    std::vector<std::string_view> known = {"rank", "batch", "seq", "targets"};
    known.insert(known.end(), report.choices.begin(), report.choices.end());
    const std::size_t choice = choice_from(axis, "--per-group", known) - 4;
    std::vector<std::string> values;
    std::vector<std::size_t> numbers;
    for (const auto& chosen : report.chosen) numbers.push_back(place_in(values, chosen[choice]));
    return [numbers](RowPlace row) { return numbers[row.question]; };
}

}  // namespace

void SelectionFlags::add(CLI::App& app) {
    const auto bound = [&app](const char* flag, std::string& place, const char* help) {
        add_value(app, flag, place, "N", help)->group("Constraints");
    };
    bound("--effective-batch", effective_batch,
          "Sequences in each optimizer step: batch size x accumulation is N; without --accumulate it is chosen so");
    bound("--min-tokens-per-step", min_tokens,
          "N tokens or more in each optimizer step: batch size x length x accumulation");
    bound("--min-rank", min_rank, "Ranks of N or more");
    bound("--min-batch", min_batch, "Batch sizes of N or more");
    bound("--min-seq", min_seq, "Sequences of N tokens or more");
    const std::string names = fmt::format("{}", fmt::join(measure_names(), ", "));
    offer(add_value(app, "--sort", sort, "NAME",
                    fmt::format("Which rows come first, those with most of: {} [capacity]", names)),
          measure_names())
        ->group("Ranking");
    offer(add_value(app, "--pareto", pareto, "NAME,...",
                    "Only rows that no other row beats in all of these, named as for --sort"),
          measure_names())
        ->group("Ranking");
    offer(add_value(app, "--per-group", per_group, "AXIS",
                    "The best rows for each value of rank, batch, seq, targets or a flag with a list"),
          {"rank", "batch", "seq", "targets"})
        ->group("Ranking");
    add_value(app, "--top", top, "N", "Rows to show [10; with --per-group 1 of each; with --pareto all]")
        ->group("Ranking");
}

void SelectionFlags::take_bounds(const std::map<std::string, std::string>& bounds, const std::string& file) {
    const std::pair<const char*, std::string*> places[] = {{"effective-batch", &effective_batch},
                                                           {"min-tokens-per-step", &min_tokens},
                                                           {"min-rank", &min_rank},
                                                           {"min-batch", &min_batch},
                                                           {"min-seq", &min_seq}};
    for (const auto& [name, place] : places) {
        const auto bound = bounds.find(name);
        if (bound == bounds.end()) continue;
        if (!place->empty())
            throw Error(ErrorKind::invalid, fmt::format("--{}", name), fmt::format("{} says it, too", file),
                        "keep one of the two");
        *place = bound->second;
    }
}

void SelectionFlags::pair_accumulation(const PlanFlags& flags, SweepAsked& asked) const {
    const auto says = [&](const char* name) {
        return std::any_of(asked.together.begin(), asked.together.end(),
                           [&](const Together& t) { return t.front().contains(name); }) ||
               std::any_of(asked.choices.begin(), asked.choices.end(),
                           [&](const PlanChoice& c) { return c.name == name; });
    };
    if (effective_batch.empty() || flags.given("accumulate") || asked.fixed.contains("accumulate") ||
        says("accumulate") || says("batch"))
        return;
    const std::int64_t rows = integer_from(effective_batch, "--effective-batch");
    Together pairs;
    const auto in_file = asked.axes.find("batch");
    const auto batches =
        axis_from(in_file == asked.axes.end() ? flags.axis("batch").value_or("1,2,4,8") : in_file->second, "--batch");
    for (const std::int64_t batch : batches)
        if (rows % batch == 0)
            pairs.push_back({{"batch", std::to_string(batch)}, {"accumulate", std::to_string(rows / batch)}});
    if (pairs.empty())
        throw Error(ErrorKind::invalid, "--effective-batch",
                    fmt::format("no batch of the space divides {}: {}", rows, fmt::join(batches, ", ")),
                    "give --batch a number that does");
    asked.together.push_back(std::move(pairs));
}

void SelectionFlags::apply(SweepReport& report) const {
    add_bound(min_rank, "--min-rank", "rank", false, report);
    add_bound(min_batch, "--min-batch", "batch", false, report);
    add_bound(min_seq, "--min-seq", "sequence", false, report);
    add_bound(min_tokens, "--min-tokens-per-step", "tokens", false, report);
    add_bound(effective_batch, "--effective-batch", "effective-batch", true, report);
    SweepSelection& selection = report.selection;
    if (!sort.empty() && sort != "capacity") selection.sort = &measure_from(sort, "--sort");
    if (!pareto.empty()) selection.pareto = measures_from(pareto, "--pareto");
    if (!per_group.empty()) {
        if (!pareto.empty())
            throw Error(ErrorKind::invalid, "--per-group", "a front has no groups", "give --per-group or --pareto");
        report.group = per_group == "sequence" ? "seq" : per_group;
        selection.group = group_by(report.group, report);
        selection.top = 1;
    }
    if (!top.empty()) selection.top = static_cast<std::size_t>(integer_from(top, "--top"));
    constexpr std::size_t kAll = static_cast<std::size_t>(-1);
    report.top = selection.group || (!pareto.empty() && top.empty()) ? kAll : selection.top;
}

}  // namespace vramfit::cli
