// The methods for a run on several cards as JSON, schema vramfit.plan/1.
#include "report/documents.hpp"
#include "report/json.hpp"
#include "vramfit/spec/plan_names.hpp"

namespace vramfit::report {

namespace {

JsonValue texts_value(const std::vector<std::string>& texts) {
    std::vector<JsonValue> items;
    for (const std::string& text : texts) items.push_back(JsonValue::of(std::string_view(text)));
    return JsonValue::list(std::move(items));
}

JsonValue launch_value(const Launch& launch) {
    std::vector<JsonValue> files;
    for (const LaunchFile& file : launch.files) {
        JsonValue item = JsonValue::object();
        item.put("name", JsonValue::of(std::string_view(file.name)));
        files.push_back(item.put("text", JsonValue::of(std::string_view(file.text))));
    }
    JsonValue out = JsonValue::object();
    out.put("command", texts_value(launch.words));
    out.put("arguments", texts_value(launch.arguments));
    out.put("script", texts_value(launch.script));
    return out.put("files", JsonValue::list(std::move(files)));
}

JsonValue method_row(const MethodRow& row) {
    JsonValue out = JsonValue::object();
    out.put("id", JsonValue::of(std::string_view(row.id)));
    out.put("title", JsonValue::of(std::string_view(row.title)));
    out.put("verdict", JsonValue::of(row.prediction ? name_of(row.verdict()) : "refused"));
    if (!row.prediction) {
        out.put("refusal", JsonValue::of(std::string_view(row.refusal)));
        return out;
    }
    const Prediction& p = *row.prediction;
    out.put("ends", ends_to_json(p));
    out.put("assumptions", assumptions_to_json(p.assumptions));
    out.put("cards", JsonValue::of(row.cards));
    out.put("quantized", JsonValue::of(row.quantized));
    out.put("process", JsonValue::of(p.plan.distributed ? p.plan.distributed->rank : 0));
    JsonValue peak = levels_to_json(p.peak);
    out.put("peak", peak.put("process", JsonValue::of(p.peak.reserved + p.device.context.count)));
    out.put("highest", JsonValue::of(std::string_view(p.highest)));
    out.put("left", JsonValue::of(p.device.usable.count - p.peak.reserved));
    out.put("largest_batch", row.largest ? JsonValue::of(*row.largest) : JsonValue());
    out.put("sequences_at_a_time", row.largest ? JsonValue::of(*row.largest * row.replicas()) : JsonValue());
    out.put("between_cards", JsonValue::of(row.traffic.between_cards()));
    JsonValue collectives = JsonValue::object();
    collectives.put("all_reduce", JsonValue::of(row.traffic.all_reduce));
    collectives.put("all_gather", JsonValue::of(row.traffic.all_gather));
    collectives.put("reduce_scatter", JsonValue::of(row.traffic.reduce_scatter));
    collectives.put("send", JsonValue::of(row.traffic.send));
    out.put("by_collective", std::move(collectives));
    out.put("with_host", JsonValue::of(row.traffic.with_host));
    out.put("host_bytes", JsonValue::of(row.host_bytes));
    out.put("lacks_host_memory", JsonValue::of(row.lacks_host_memory));
    out.put("operations", JsonValue::of(row.operations));
    out.put("cost", JsonValue::of(row.cost));
    out.put("plan", plan_to_json(p.plan));
    return out.put("launch", launch_value(launch_of(p.plan)));
}

JsonValue fleet_value(const MethodsReport& report) {
    const Job& job = report.question.job;
    std::vector<JsonValue> rows;
    for (const MethodRow& row : report.answer.rows) rows.push_back(method_row(row));
    JsonValue out = JsonValue::object();
    out.put("schema", JsonValue::of("vramfit.plan/1"));
    out.put("model", JsonValue::of(std::string_view(job.model.name)));
    out.put("cards", JsonValue::of(report.question.cards));
    out.put("operations_per_byte", JsonValue::of(report.question.operations_per_byte));
    out.put("host_memory",
            report.question.host_memory ? JsonValue::of(report.question.host_memory->count) : JsonValue());
    out.put("device", device_to_json(job.device));
    out.put("stack", stack_to_json(job.stack));
    return out.put("methods", JsonValue::list(std::move(rows)));
}

}  // namespace

std::string methods_json(const MethodsReports& reports, const Layout&) {
    if (reports.fleets.size() == 1) return to_text(fleet_value(reports.fleets.front()));
    std::vector<JsonValue> fleets;
    for (const MethodsReport& fleet : reports.fleets) fleets.push_back(fleet_value(fleet));
    JsonValue out = JsonValue::object();
    out.put("schema", JsonValue::of("vramfit.plans/1"));
    return to_text(out.put("fleets", JsonValue::list(std::move(fleets))));
}

}  // namespace vramfit::report
