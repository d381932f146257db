// Reads the JSON of parts.
#include "cli/sweep/parts.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "cli/input.hpp"
#include "report/documents.hpp"
#include "spec/json_parse.hpp"
#include "spec/reader.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::cli {

namespace {

constexpr const char* kRunAgain = "run the part again, with --shard K/N --format json";

std::size_t count_at(ObjectReader& object, std::string_view key) {
    const auto value = object.integer(key);
    if (!value && !object.has(key)) object.problems().invalid(object.path(key), "the key is missing", kRunAgain);
    return static_cast<std::size_t>(value.value_or(0));
}

void read_counts(ObjectReader& document, SweepPart& part) {
    auto counts = document.object("counts");
    if (!counts) return document.problems().invalid("/counts", "no counts", kRunAgain);
    part.total = count_at(*counts, "total");
    part.result.counts = {.total = part.total,
                          .simulated = count_at(*counts, "simulated"),
                          .recorded = count_at(*counts, "recorded"),
                          .replayed = count_at(*counts, "replayed"),
                          .ruled_out = count_at(*counts, "ruled_out"),
                          .invalid = count_at(*counts, "invalid"),
                          .outside = count_at(*counts, "outside"),
                          .open = count_at(*counts, "open")};
}

void read_shard(ObjectReader& document, SweepPart& part) {
    auto shard = document.object("shard");
    if (!shard) return document.problems().invalid("/shard", "the file is no part of a sweep", kRunAgain);
    part.shard = {count_at(*shard, "part"), count_at(*shard, "of")};
    part.arguments = shard->texts("arguments").value_or(std::vector<std::string>{});
    part.version = shard->text("version").value_or("");
    part.result.problem = document.text("problem", Null::absent).value_or("");
    part.result.other_problems = document.boolean("other_problems").value_or(false);
    if (document.boolean("stopped").value_or(false))
        document.problems().invalid("/stopped", "the part was stopped before its end", kRunAgain);
}

/// The items of a list of objects, with their paths.
template <class Read>
void each_object(ObjectReader& document, std::string_view key, Read read) {
    const JsonValue* list = document.value(key);
    for (std::size_t i = 0; list && i < list->items.size(); ++i)
        read(ObjectReader(list->items[i], fmt::format("/{}/{}", key, i), document.problems()));
}

/// The row of that number, which is then no longer open.
SweepRow& row_at(ObjectReader& item, SweepPart& part) {
    static SweepRow beyond;
    const std::size_t number = count_at(item, "row");
    if (number < part.result.rows.size()) return part.result.rows[number];
    item.problems().invalid(item.path("row"), fmt::format("there is no row {}", number), kRunAgain);
    return beyond;
}

void read_ranked(ObjectReader item, SweepPart& part) {
    SweepRow& row = row_at(item, part);
    row.status = RowStatus::simulated;
    row.verdict = Verdict::fits;
    row.requested = static_cast<std::int64_t>(count_at(item, "requested"));
    row.requested_there = item.integer("requested_on_card").value_or(0);
    row.allocated = static_cast<std::int64_t>(count_at(item, "allocated"));
    row.reserved = static_cast<std::int64_t>(count_at(item, "reserved"));
    const std::string peak = item.text("peak").value_or("");
    for (const Peak* each : all_peaks())
        if (each->name == peak) row.peak = each;
    part.result.ranking.push_back(row.number);
    part.commands.emplace_back(row.number, item.text("command").value_or(""));
}

constexpr Named<RowStatus> kStatuses[] = {{"simulated", RowStatus::simulated},
                                          {"ruled_out", RowStatus::ruled_out},
                                          {"invalid", RowStatus::invalid},
                                          {"outside", RowStatus::outside},
                                          {"open", RowStatus::open}};
constexpr Named<Verdict> kVerdicts[] = {
    {"fits", Verdict::fits}, {"tight", Verdict::tight}, {"too_large", Verdict::too_large}};

void read_any_row(ObjectReader item, SweepPart& part) {
    SweepRow& row = row_at(item, part);
    row.status = item.choice<RowStatus>("status", kStatuses).value_or(RowStatus::open);
    if (const auto verdict = item.choice<Verdict>("verdict", kVerdicts, Null::absent)) row.verdict = *verdict;
    row.requested = item.integer("requested").value_or(row.requested);
    if (const auto by = item.integer("ruled_out_by")) row.ruled_out_by = static_cast<std::size_t>(*by);
    row.problem = item.text("problem").value_or("");
}

void read_note(ObjectReader item, SweepPart& part) {
    const std::string kind = item.text("kind").value_or("");
    for (int k = 0; k <= static_cast<int>(kLastNoteKind); ++k)
        if (kind == name_of(static_cast<NoteKind>(k)))
            part.result.notes.push_back(
                {static_cast<NoteKind>(k), item.text("text").value_or(""), item.text("hint").value_or("")});
}

}  // namespace

SweepPart read_part(const std::string& path) {
    SweepPart part;
    part.file = name_of_input(path);
    Problems problems(part.file);
    const JsonValue value = parse_json(read_input(path, "--merge"), problems);
    problems.throw_if_any();
    ObjectReader document(value, "", problems);
    if (document.text("schema").value_or("") != "vramfit.sweep/1")
        problems.invalid("/schema", "the file is no sweep of vramfit", kRunAgain);
    problems.throw_if_any();
    read_shard(document, part);
    read_counts(document, part);
    problems.throw_if_any();
    if (part.total > kMostRowsHeld) problems.invalid("/counts/total", "too many rows", kRunAgain);
    problems.throw_if_any();
    part.result.rows.resize(part.total);
    for (std::size_t i = 0; i < part.total; ++i) {
        part.result.rows[i].number = i;
        part.result.rows[i].status = RowStatus::open;
    }
    each_object(document, "all_rows", [&part](ObjectReader item) { read_any_row(std::move(item), part); });
    each_object(document, "rows", [&part](ObjectReader item) { read_ranked(std::move(item), part); });
    each_object(document, "notes", [&part](ObjectReader item) { read_note(std::move(item), part); });
    problems.throw_if_any();
    return part;
}

void check_parts(const std::vector<SweepPart>& parts) {
    const SweepPart& first = parts.front();
    const auto refuse = [](const std::string& what, const char* hint) {
        throw Error(ErrorKind::invalid, "--merge", what, hint);
    };
    if (first.version != VRAMFIT_VERSION)
        refuse(fmt::format("{} was written by vramfit {}, this is {}", first.file, first.version, VRAMFIT_VERSION),
               "run all parts with one version");
    std::set<std::size_t> seen;
    for (const SweepPart& part : parts) {
        if (part.arguments != first.arguments || part.shard.of != first.shard.of || part.total != first.total ||
            part.version != first.version)
            refuse(fmt::format("{} and {} are parts of different sweeps", first.file, part.file),
                   "the parts of one sweep differ in --shard alone");
        if (!seen.insert(part.shard.part).second)
            refuse(fmt::format("{}: part {} is given twice", part.file, part.shard.part), "give each part once");
    }
    for (std::size_t part = 1; part <= first.shard.of; ++part)
        if (!seen.contains(part))
            refuse(fmt::format("part {} of {} is missing", part, first.shard.of), "give the files of all parts");
}

std::vector<SweepResult> results_of(std::vector<SweepPart> parts, const SweepReport& report) {
    constexpr const char* kOther = "models, stacks or the space file have changed since; run the parts again";
    std::vector<std::size_t> firsts = first_rows_of(report.questions);
    std::vector<SweepResult> out;
    for (SweepPart& part : parts) {
        if (part.total != firsts.back())
            throw Error(ErrorKind::invalid, part.file, "its arguments now ask for another number of rows", kOther);
        SweepResult& result = part.result;
        result.first_rows.assign(firsts.begin(), firsts.end() - 1);
        for (std::size_t q = 0; q < result.first_rows.size(); ++q)
            for (std::size_t n = firsts[q]; n < firsts[q + 1]; ++n) {
                SweepRow& row = result.rows[n];
                row.question = q;
                row.utilization = report.questions[q].utilization(row.requested);
            }
        SweepReport whole = report;
        whole.result = result;
        for (const auto& [number, command] : part.commands)
            if (fmt::format("{}", fmt::join(report::command_of(whole, result.rows[number]), " ")) != command)
                throw Error(ErrorKind::invalid, part.file, fmt::format("row {} is now another one", number), kOther);
        out.push_back(std::move(result));
    }
    return out;
}

}  // namespace vramfit::cli
