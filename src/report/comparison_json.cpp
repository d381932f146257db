// The document vramfit.compare/1, of a snapshot and of an out of memory error.
#include "report/comparison_reasons.hpp"
#include "report/documents.hpp"
#include "report/json.hpp"

namespace vramfit::report {

namespace {

JsonValue count(std::size_t number) { return JsonValue::of(static_cast<std::int64_t>(number)); }
JsonValue words(const std::string& text) { return JsonValue::of(std::string_view(text)); }

JsonValue predicted_value(const PredictedAllocation& a) {
    JsonValue out = JsonValue::object();
    out.put("bytes", JsonValue::of(a.bytes));
    out.put("op", words(a.op));
    out.put("module", words(a.module));
    return out.put("category", JsonValue::of(vramfit::name_of(a.category)));
}

JsonValue seen_value(const SeenAllocation& a) {
    std::vector<JsonValue> frames;
    for (const StackFrame& frame : a.frames) {
        JsonValue item = JsonValue::object();
        item.put("file", words(frame.file));
        item.put("line", JsonValue::of(frame.line));
        frames.push_back(item.put("function", words(frame.function)));
    }
    JsonValue out = JsonValue::object();
    out.put("bytes", JsonValue::of(a.bytes));
    out.put("entry", count(a.entry));
    return out.put("frames", JsonValue::list(std::move(frames)));
}

JsonValue difference_value(const SnapshotDifference& d) {
    JsonValue out = JsonValue::object();
    out.put("kind", JsonValue::of(vramfit::name_of(d.kind)));
    out.put("window", words(d.window));
    out.put("predicted", d.predicted ? predicted_value(*d.predicted) : JsonValue{});
    out.put("recorded", d.seen ? seen_value(*d.seen) : JsonValue{});
    out.put("predicted_count", count(d.predicted_count));
    out.put("recorded_count", count(d.seen_count));
    out.put("predicted_bytes", JsonValue::of(d.predicted_bytes));
    return out.put("recorded_bytes", JsonValue::of(d.seen_bytes));
}

JsonValue held_value(const HeldSize& size) {
    JsonValue out = JsonValue::object();
    out.put("bytes", JsonValue::of(size.bytes));
    out.put("recorded_count", JsonValue::of(size.seen));
    out.put("predicted_count", JsonValue::of(size.predicted));
    return out.put("predicted", size.what ? predicted_value(*size.what) : JsonValue{});
}

JsonValue seen_oom_value(const SeenOutOfMemory& oom) {
    JsonValue out = JsonValue::object();
    out.put("window", words(oom.window));
    out.put("tried", JsonValue::of(oom.tried));
    out.put("free", JsonValue::of(oom.free));
    return out.put("requested", JsonValue::of(oom.requested));
}

JsonValue reasons_value(const std::vector<std::string>& reasons) {
    std::vector<JsonValue> items;
    for (const std::string& reason : reasons) items.push_back(words(reason));
    return JsonValue::list(std::move(items));
}

JsonValue document_of(const std::string& file, const std::string& model, bool equal) {
    JsonValue out = JsonValue::object();
    out.put("schema", JsonValue::of("vramfit.compare/1"));
    out.put("file", words(file));
    out.put("model", words(model));
    return out.put("equal", JsonValue::of(equal));
}

JsonValue request_value(const OomRequest& request) {
    JsonValue out = JsonValue::object();
    out.put("window", words(request.window));
    out.put("allocation", predicted_value(request.what));
    out.put("segment", JsonValue::of(request.segment));
    out.put("allocated", JsonValue::of(request.allocated));
    return out.put("reserved", JsonValue::of(request.reserved));
}

JsonValue message_value(const OomMessage& m) {
    const auto size = [](const std::optional<PrintedSize>& s) { return s ? JsonValue::of(s->bytes) : JsonValue{}; };
    JsonValue out = JsonValue::object();
    out.put("tried", size(m.tried));
    out.put("total", size(m.total));
    out.put("free", size(m.free));
    out.put("process", size(m.process));
    out.put("other_processes", size(m.others));
    out.put("allowed", size(m.allowed));
    out.put("allocated", size(m.allocated));
    return out.put("reserved_unallocated", size(m.unallocated));
}

}  // namespace

std::string comparison_json(const ComparisonReport& r, const Layout&) {
    const SnapshotComparison& c = r.comparison;
    JsonValue snapshot = JsonValue::object();
    snapshot.put("device", JsonValue::of(r.device));
    snapshot.put("devices", JsonValue::of(r.devices));
    snapshot.put("entries", count(c.entries));
    snapshot.put("allocations", count(c.allocations));
    snapshot.put("allocations_of_known_sizes", count(c.known_sizes));
    snapshot.put("from_start", JsonValue::of(c.from_start));
    JsonValue covered = JsonValue::object();
    covered.put("aligned", JsonValue::of(c.aligned));
    covered.put("events", count(c.compared));
    covered.put("first_window", words(c.first_window));
    covered.put("last_window", words(c.last_window));
    covered.put("extra_steps", JsonValue::of(c.extra_steps));
    covered.put("load_compared", JsonValue::of(c.load_compared));
    covered.put("load_reordered", JsonValue::of(c.load_reordered));
    JsonValue peaks = JsonValue::object();
    peaks.put("recorded", JsonValue::of(c.peak_seen));
    peaks.put("recorded_window", words(c.peak_window_seen));
    peaks.put("predicted", JsonValue::of(c.peak_predicted));
    peaks.put("predicted_window", words(c.peak_window_predicted));
    std::vector<JsonValue> differences, held;
    for (const SnapshotDifference& d : c.differences) differences.push_back(difference_value(d));
    for (const HeldSize& size : c.held) held.push_back(held_value(size));
    JsonValue out = document_of(r.file, r.model, c.equal());
    out.put("snapshot", std::move(snapshot));
    out.put("compared", std::move(covered));
    out.put("requested_peak", std::move(peaks));
    out.put("difference_count", count(c.difference_count));
    out.put("differences", JsonValue::list(std::move(differences)));
    out.put("held", JsonValue::list(std::move(held)));
    out.put("out_of_memory", c.out_of_memory ? seen_oom_value(*c.out_of_memory) : JsonValue{});
    out.put("hints", reasons_value(reasons_of(r)));
    out.put("notes", notes_to_json(r.notes));
    return to_text(out);
}

std::string oom_json(const OomReport& r, const Layout&) {
    const OomExplanation& e = r.explanation;
    JsonValue error = JsonValue::object();
    error.put("message", message_value(e.message));
    error.put("same_size", count(e.same_size));
    error.put("same_state", JsonValue::of(e.same_state));
    error.put("nearest", e.nearest ? request_value(*e.nearest) : JsonValue{});
    error.put("scaled", e.scaled ? request_value(*e.scaled) : JsonValue{});
    error.put("scaled_tokens", e.scaled ? JsonValue::of(e.scaled_tokens) : JsonValue{});
    error.put("allocated_peak", JsonValue::of(e.allocated_peak));
    error.put("reserved_peak", JsonValue::of(e.reserved_peak));
    JsonValue out = document_of(r.file, r.prediction.model.name, e.same_state);
    out.put("error", std::move(error));
    out.put("device", device_to_json(r.prediction.device));
    out.put("verdict", JsonValue::of(vramfit::name_of(r.prediction.verdict)));
    out.put("hints", reasons_value(reasons_of(r)));
    out.put("notes", notes_to_json(r.prediction.notes));
    return to_text(out);
}

}  // namespace vramfit::report
