// The document vramfit.check/1.
#include "report/documents.hpp"
#include "report/json.hpp"
#include "spec/config_read.hpp"

namespace vramfit::report {

namespace {

JsonValue text_value(const std::string& text) { return JsonValue::of(std::string_view(text)); }

/// "file", "line", "column"; null where there is none.
void put_place(JsonValue& out, const FilePlace& place) {
    out.put("file", place.file.empty() ? JsonValue{} : text_value(place.file));
    out.put("line", place.at.line == 0 ? JsonValue{} : JsonValue::of(std::int64_t{place.at.line}));
    out.put("column", place.at.line == 0 ? JsonValue{} : JsonValue::of(std::int64_t{place.at.column}));
}

JsonValue files_value(const Reading& reading) {
    std::vector<JsonValue> items;
    for (const ReadFile& file : reading.files) {
        JsonValue item = JsonValue::object();
        item.put("name", text_value(file.name));
        item.put("format", text_value(file.format));
        items.push_back(item.put("title", text_value(file.title)));
    }
    return JsonValue::list(std::move(items));
}

JsonValue inputs_value(const Reading& reading) {
    std::vector<JsonValue> items;
    for (const Input& input : reading.inputs) {
        JsonValue item = JsonValue::object();
        item.put("field", text_value(input.field));
        item.put("value", text_value(input.value));
        item.put("source", JsonValue::of(vramfit::name_of(input.source)));
        item.put("key", text_value(input.key));
        put_place(item, input.place);
        items.push_back(std::move(item));
    }
    return JsonValue::list(std::move(items));
}

JsonValue refusals_value(const Reading& reading) {
    std::vector<JsonValue> items;
    for (const Refusal& refusal : reading.refusals) {
        JsonValue item = JsonValue::object();
        item.put("key", text_value(refusal.key));
        put_place(item, refusal.place);
        item.put("what", text_value(refusal.what));
        items.push_back(item.put("hint", text_value(refusal.hint)));
    }
    return JsonValue::list(std::move(items));
}

JsonValue reading_notes(const Reading& reading) {
    std::vector<JsonValue> items;
    for (const ReadingNote& note : reading.notes) {
        JsonValue item = JsonValue::object();
        item.put("kind", JsonValue::of(vramfit::name_of(note.kind)));
        item.put("text", text_value(note.text));
        items.push_back(item.put("hint", text_value(note.hint)));
    }
    return JsonValue::list(std::move(items));
}

JsonValue change_value(const PricedChange& change) {
    JsonValue out = JsonValue::object();
    std::vector<JsonValue> titles;
    for (const std::string& title : change.titles) titles.push_back(text_value(title));
    out.put("titles", JsonValue::list(std::move(titles)));
    std::vector<JsonValue> edits;
    for (std::size_t i = 0; i < change.edits.size(); ++i) {
        JsonValue edit = JsonValue::object();
        edit.put("key", text_value(change.edits[i].key));
        edit.put("from", change.before[i].empty() ? JsonValue{} : text_value(change.before[i]));
        edits.push_back(
            edit.put("to", change.edits[i].value.empty() ? JsonValue{} : text_value(change.edits[i].value)));
    }
    out.put("edits", JsonValue::list(std::move(edits)));
    out.put("reserved", JsonValue::of(change.reserved));
    return out.put("spare", JsonValue::of(change.spare));
}

/// What is known where another program runs than the one that is predicted.
JsonValue bound_value(const CheckAnswer& answer, const Reading& reading) {
    if (!reading.upper_bound()) return {};
    JsonValue out = JsonValue::object();
    out.put("reserved", JsonValue::of(answer.prediction.peak.reserved));
    return out.put("why", text_value(reading.upper_bound()->text));
}

JsonValue answer_value(const CheckAnswer& answer, const Reading& reading) {
    const Prediction& p = answer.prediction;
    JsonValue out = JsonValue::object();
    out.put("device", device_to_json(p.device));
    out.put("verdict", JsonValue::of(vramfit::name_of(p.verdict)));
    out.put("ends", ends_to_json(p));
    out.put("assumptions", assumptions_to_json(p.assumptions));
    out.put("bound", bound_value(answer, reading));
    out.put("highest", text_value(p.highest));
    out.put("runner_up", text_value(answer.runner_up));
    out.put("requested", JsonValue::of(p.peak.requested));
    out.put("allocated", JsonValue::of(p.peak.allocated));
    out.put("reserved", JsonValue::of(p.peak.reserved));
    out.put("spare", p.device.capacity_known ? JsonValue::of(answer.spare) : JsonValue{});
    out.put("out_of_memory", p.out_of_memory ? text_value(p.out_of_memory_window) : JsonValue{});
    std::vector<JsonValue> changes;
    for (const PricedChange& change : answer.changes) changes.push_back(change_value(change));
    out.put("changes", JsonValue::list(std::move(changes)));
    std::vector<JsonValue> tried;
    for (const std::string& what : answer.tried) tried.push_back(text_value(what));
    out.put("tried", JsonValue::list(std::move(tried)));
    out.put("smallest", answer.smallest ? change_value(*answer.smallest) : JsonValue{});
    out.put("holds_smallest", answer.holds_smallest.empty() ? JsonValue{} : text_value(answer.holds_smallest));
    out.put("wall", answer.wall ? JsonValue::of(*answer.wall) : JsonValue{});
    out.put("rows_beyond_wall", JsonValue::of(answer.rows_beyond_wall));
    return out.put("notes", notes_to_json(p.notes));
}

JsonValue run_value(const CheckReport& report) {
    const CheckResult& result = report.result;
    const Job& job = result.reading.job;
    JsonValue out = JsonValue::object();
    out.put("schema", JsonValue::of("vramfit.check/1"));
    out.put("verdict", JsonValue::of(result.refused() ? "unsupported" : vramfit::name_of(result.verdict)));
    out.put("files", files_value(result.reading));
    out.put("model", result.refused() ? JsonValue{} : text_value(job.model.name));
    out.put("plan", result.refused() ? JsonValue{} : plan_to_json(job.plan));
    out.put("stack", stack_to_json(job.stack));
    out.put("inputs", inputs_value(result.reading));
    out.put("refusals", refusals_value(result.reading));
    std::vector<JsonValue> answers;
    for (const CheckAnswer& answer : result.answers) answers.push_back(answer_value(answer, result.reading));
    out.put("answers", JsonValue::list(std::move(answers)));
    return out.put("notes", reading_notes(result.reading));
}

JsonValue problems_value(const CheckReport& report) {
    std::vector<JsonValue> items;
    for (const Problem& problem : report.problems) {
        JsonValue item = JsonValue::object();
        item.put("where", text_value(problem.where));
        item.put("what", text_value(problem.what));
        items.push_back(item.put("hint", text_value(problem.hint)));
    }
    return JsonValue::list(std::move(items));
}

JsonValue each_value(const CheckReport& report) {
    JsonValue out = JsonValue::object();
    std::vector<JsonValue> files;
    for (const std::string& file : report.files) files.push_back(text_value(file));
    out.put("files", JsonValue::list(std::move(files)));
    out.put("status", JsonValue::of(std::int64_t{report.status}));
    out.put("problems", problems_value(report));
    return out.put("answer", report.problems.empty() ? run_value(report) : JsonValue{});
}

}  // namespace

std::string check_json(const CheckReports& reports, const Layout&) {
    if (!reports.each) return to_text(run_value(reports.runs.front()));
    JsonValue out = JsonValue::object();
    std::vector<JsonValue> runs;
    for (const CheckReport& run : reports.runs) runs.push_back(each_value(run));
    out.put("schema", JsonValue::of("vramfit.checks/1"));
    out.put("runs", JsonValue::list(std::move(runs)));
    return to_text(out);
}

}  // namespace vramfit::report
