// The document vramfit.sweep/1.
#include <fmt/format.h>

#include <algorithm>

#include "report/documents.hpp"
#include "report/json.hpp"

namespace vramfit::report {

namespace {

JsonValue numbers(const std::vector<std::int64_t>& values) {
    std::vector<JsonValue> items;
    for (const std::int64_t v : values) items.push_back(JsonValue::of(v));
    return JsonValue::list(std::move(items));
}

JsonValue number(std::size_t n) { return JsonValue::of(static_cast<std::int64_t>(n)); }

JsonValue text(const std::string& t) { return JsonValue::of(std::string_view(t)); }

/// Without adapters there are neither targets nor ranks.
JsonValue space_of(const SweepQuestion& question) {
    const SweepSpace& space = question.space;
    std::vector<JsonValue> targets;
    if (question.base.peft)
        for (const TargetSet& t : space.targets) targets.push_back(text(t.name));
    JsonValue out = JsonValue::object();
    out.put("targets", JsonValue::list(std::move(targets)));
    out.put("rank", numbers(question.base.peft ? space.ranks : std::vector<std::int64_t>{}));
    out.put("batch", numbers(space.batches));
    return out.put("sequence_length", numbers(space.lengths));
}

/// Of each question in order; axes that nobody gave go on for each as far as anything fits.
JsonValue all_spaces(const SweepReport& report) {
    std::vector<JsonValue> out;
    for (const SweepQuestion& question : report.questions) out.push_back(space_of(question));
    return JsonValue::list(std::move(out));
}

/// Whether some question was searched over other values than the one that `space` shows.
bool spaces_differ(const SweepReport& report) {
    const SweepSpace& shown = report.widest().space;
    return std::any_of(report.questions.begin(), report.questions.end(), [&](const SweepQuestion& q) {
        return q.space.batches != shown.batches || q.space.lengths != shown.lengths ||
               (q.base.peft && (q.space.ranks != shown.ranks || q.space.targets.size() != shown.targets.size()));
    });
}

JsonValue counts_of(const SweepCounts& counts) {
    JsonValue out = JsonValue::object();
    out.put("total", number(counts.total));
    out.put("simulated", number(counts.simulated));
    out.put("ruled_out", number(counts.ruled_out));
    out.put("invalid", number(counts.invalid));
    out.put("outside", number(counts.outside));
    out.put("open", number(counts.open));
    out.put("recorded", number(counts.recorded));
    out.put("replayed", number(counts.replayed));
    out.put("tight", number(counts.tight));
    return out.put("undecided", number(counts.undecided));
}

const char* word(RowStatus status) {
    switch (status) {
        case RowStatus::simulated: return "simulated";
        case RowStatus::ruled_out: return "ruled_out";
        case RowStatus::invalid: return "invalid";
        case RowStatus::outside: return "outside";
        case RowStatus::open: return "open";
    }
    return "";
}

JsonValue verdict_of(const SweepRow& row) {
    if (!row.verdict) return JsonValue{};
    return JsonValue::of(name_of(*row.verdict));
}

/// The values that a question has for the flags that differ.
JsonValue choices_of(const SweepReport& report, const SweepRow& row) {
    JsonValue out = JsonValue::object();
    for (std::size_t i = 0; i < report.choices.size(); ++i)
        out.put(report.choices[i], text(report.chosen[row.question][i]));
    return out;
}

/// Every flag that differs with all of its values.
JsonValue all_choices(const SweepReport& report) {
    JsonValue out = JsonValue::object();
    for (std::size_t i = 0; i < report.choices.size(); ++i) {
        std::vector<std::string> seen;
        std::vector<JsonValue> values;
        for (const std::vector<std::string>& chosen : report.chosen) {
            if (std::find(seen.begin(), seen.end(), chosen[i]) != seen.end()) continue;
            seen.push_back(chosen[i]);
            values.push_back(text(chosen[i]));
        }
        out.put(report.choices[i], JsonValue::list(std::move(values)));
    }
    return out;
}

JsonValue selection_of(const SweepReport& report) {
    const SweepSelection& selection = report.selection;
    std::vector<JsonValue> front;
    for (const SweepMeasure* measure : selection.pareto) front.push_back(text(measure->name));
    JsonValue out = JsonValue::object();
    out.put("sort", text(selection.sort ? selection.sort->name : "capacity"));
    out.put("pareto", JsonValue::list(std::move(front)));
    return out.put("per_group", report.group.empty() ? JsonValue{} : text(report.group));
}

JsonValue shard_of(const SweepReport& report) {
    std::vector<JsonValue> arguments;
    for (const std::string& argument : report.arguments) arguments.push_back(text(argument));
    JsonValue out = JsonValue::object();
    out.put("part", number(report.shard.part));
    out.put("of", number(report.shard.of));
    out.put("arguments", JsonValue::list(std::move(arguments)));
    return out.put("version", text(report.version));
}

JsonValue bounds_of(const SweepReport& report) {
    std::vector<JsonValue> out;
    for (const SweepBound& bound : report.bounds) {
        JsonValue& one = out.emplace_back(JsonValue::object());
        one.put("measure", text(bound.measure->name));
        one.put("low", JsonValue::of(bound.low));
        one.put("high", bound.high == bound.low ? JsonValue::of(bound.high) : JsonValue{});
    }
    return JsonValue::list(std::move(out));
}

JsonValue ranked(const SweepReport& report, std::size_t place, const SweepRow& row) {
    JsonValue out = JsonValue::object();
    out.put("rank", number(place));
    out.put("row", number(row.number));
    out.put("plan", plan_to_json(report.plan(row)));
    if (!report.choices.empty()) out.put("choices", choices_of(report, row));
    out.put("peak", text(row.peak ? row.peak->name : ""));
    out.put("requested", JsonValue::of(row.requested));
    if (row.is_leaner()) out.put("requested_on_card", JsonValue::of(row.requested_on_card()));
    out.put("allocated", JsonValue::of(row.allocated));
    out.put("reserved", JsonValue::of(row.reserved));
    out.put("utilization", JsonValue::of(row.utilization));
    const SweepMeasure* tokens = find_measure("tokens");
    out.put("tokens_per_step", JsonValue::of(*tokens->of_plan(report.question_of(row), report.coordinates(row))));
    if (!report.largest.empty()) {
        const LargestRow& found = report.largest_rows[place - 1];
        out.put("found_by", text(found_by(found.how)));
        out.put("looked_at", number(found.looked_at));
    }
    return out.put("command", text(fmt::format("{}", fmt::join(command_of(report, row), " "))));
}

JsonValue nearest_of(const SweepReport& report, const NearestMiss& miss) {
    const SweepRow& row = report.result.rows[miss.number];
    JsonValue out = JsonValue::object();
    out.put("row", number(row.number));
    out.put("plan", plan_to_json(report.plan(row)));
    out.put("verdict", JsonValue::of(name_of(miss.verdict)));
    out.put("requested", JsonValue::of(row.requested));
    out.put("reserved", JsonValue::of(miss.reserved));
    out.put("missing", JsonValue::of(miss.missing));
    return out.put("command", text(fmt::format("{}", fmt::join(command_of(report, row), " "))));
}

JsonValue any_row(const SweepReport& report, const SweepRow& row) {
    const SweepSpace& space = report.question_of(row).space;
    const Coordinates c = report.coordinates(row);
    JsonValue out = JsonValue::object();
    out.put("row", number(row.number));
    if (!report.choices.empty()) out.put("choices", choices_of(report, row));
    const bool adapters = report.question_of(row).base.peft.has_value();
    out.put("targets", adapters ? text(space.targets[c.target].name) : JsonValue{});
    out.put("rank", adapters ? JsonValue::of(space.ranks[c.rank]) : JsonValue{});
    out.put("batch", JsonValue::of(space.batches[c.batch]));
    out.put("sequence_length", JsonValue::of(space.lengths[c.length]));
    out.put("status", JsonValue::of(std::string_view(word(row.status))));
    out.put("verdict", verdict_of(row));
    if (row.status == RowStatus::simulated) out.put("requested", JsonValue::of(row.requested));
    if (row.ruled_out_by) {
        out.put("ruled_out_by", number(*row.ruled_out_by));
        out.put("why", JsonValue::of(std::string_view("too_large")));
    }
    if (!row.problem.empty()) out.put("problem", text(row.problem));
    return out;
}

}  // namespace

std::string sweep_json(const SweepReport& report, const Layout&) {
    const SweepResult& result = report.result;
    std::vector<JsonValue> rows;
    for (std::size_t i = 0; i < std::min(report.top, result.ranking.size()); ++i)
        rows.push_back(ranked(report, i + 1, result.rows[result.ranking[i]]));
    JsonValue out = JsonValue::object();
    out.put("schema", JsonValue::of(std::string_view("vramfit.sweep/1")));
    const SweepQuestion& widest = report.widest();
    out.put("model", text(widest.model.name));
    out.put("stack", stack_to_json(widest.stack));
    out.put("device", device_to_json(widest.device));
    if (!report.choices.empty()) out.put("choices", all_choices(report));
    out.put("space", space_of(widest));
    if (spaces_differ(report)) out.put("spaces", all_spaces(report));
    if (!report.largest.empty()) {
        JsonValue largest = JsonValue::object();
        largest.put("axis", text(report.largest));
        out.put("largest", largest.put("combinations", number(report.combinations)));
    }
    if (!report.arguments.empty()) out.put("shard", shard_of(report));
    out.put("bounds", bounds_of(report));
    out.put("selection", selection_of(report));
    out.put("counts", counts_of(result.counts));
    out.put("problem", result.problem.empty() ? JsonValue{} : text(result.problem));
    out.put("other_problems", JsonValue::of(result.other_problems));
    out.put("stopped", JsonValue::of(result.stopped));
    out.put("rows", JsonValue::list(std::move(rows)));
    if (result.nearest) out.put("nearest", nearest_of(report, *result.nearest));
    if (report.all_rows) {
        std::vector<JsonValue> all;
        for (const SweepRow& row : result.rows) all.push_back(any_row(report, row));
        out.put("all_rows", JsonValue::list(std::move(all)));
    }
    out.put("notes", notes_to_json(result.notes));
    return to_text(out);
}

}  // namespace vramfit::report
