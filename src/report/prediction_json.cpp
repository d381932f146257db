// The document vramfit.prediction/1.
#include "report/documents.hpp"
#include "report/json.hpp"
#include "spec/config_read.hpp"

namespace vramfit::report {

namespace {

JsonValue shares(const Shares& shares) {
    std::vector<JsonValue> items;
    for (int i = 1; i < kCategoryCount; ++i) {
        const std::int64_t bytes = shares[static_cast<std::size_t>(i)];
        if (bytes == 0) continue;
        JsonValue share = JsonValue::object();
        share.put("category", JsonValue::of(vramfit::name_of(static_cast<Category>(i))));
        items.push_back(share.put("bytes", JsonValue::of(bytes)));
    }
    return JsonValue::list(std::move(items));
}

JsonValue peak(const PeakResult& peak) {
    JsonValue out = JsonValue::object();
    out.put("id", JsonValue::of(std::string_view(peak.id)));
    out.put("name", JsonValue::of(std::string_view(peak.name)));
    out.put("window", JsonValue::of(std::string_view(peak.window)));
    out.put("requested", JsonValue::of(peak.requested));
    out.put("allocated", JsonValue::of(peak.allocated));
    out.put("reserved", JsonValue::of(peak.reserved));
    out.put("process", JsonValue::of(peak.process));
    out.put("shares", shares(peak.shares));
    return out.put("unattributed", JsonValue::of(peak.shares[0]));
}

JsonValue out_of_memory(const Prediction& p) {
    if (!p.out_of_memory) return {};
    JsonValue out = JsonValue::object();
    out.put("window", JsonValue::of(std::string_view(p.out_of_memory_window)));
    out.put("requested", JsonValue::of(p.out_of_memory->requested));
    out.put("rounded", JsonValue::of(p.out_of_memory->rounded));
    out.put("segment", JsonValue::of(p.out_of_memory->segment));
    out.put("allocated", JsonValue::of(p.out_of_memory_levels.allocated));
    return out.put("reserved", JsonValue::of(p.out_of_memory_levels.reserved));
}

JsonValue next_larger(const Prediction& p) {
    std::vector<JsonValue> items;
    for (const Neighbour& next : p.next_larger) {
        JsonValue out = levels_to_json(next.peak);
        out.put("flag", JsonValue::of(std::string_view(next.flag)));
        out.put("value", JsonValue::of(next.value));
        out.put("verdict", JsonValue::of(name_of(next.verdict)));
        items.push_back(out.put("left", JsonValue::of(next.left)));
    }
    return JsonValue::list(std::move(items));
}

JsonValue texts(const std::vector<std::string>& items) {
    std::vector<JsonValue> out;
    for (const std::string& item : items) out.push_back(JsonValue::of(std::string_view(item)));
    return JsonValue::list(std::move(out));
}

JsonValue plan_change(const PlanChange& change) {
    JsonValue out = JsonValue::object();
    out.put("titles", texts(change.titles));
    JsonValue flags = JsonValue::object();
    for (const FlagValue& each : change.flags) flags.put(each.flag, JsonValue::of(std::string_view(each.value)));
    out.put("flags", std::move(flags));
    out.put("reserved", JsonValue::of(change.reserved));
    return out.put("spare", JsonValue::of(change.spare));
}

JsonValue plan_changes(const PlanChanges& changes) {
    JsonValue out = JsonValue::object();
    std::vector<JsonValue> items;
    for (const PlanChange& change : changes.changes) items.push_back(plan_change(change));
    out.put("fitting", JsonValue::list(std::move(items)));
    out.put("tried", texts(changes.tried));
    out.put("smallest", changes.smallest ? plan_change(*changes.smallest) : JsonValue{});
    return out.put("holds_smallest", changes.holds_smallest.empty()
                                         ? JsonValue{}
                                         : JsonValue::of(std::string_view(changes.holds_smallest)));
}

JsonValue largest(const LargestFit& fit) {
    JsonValue out = JsonValue::object();
    out.put("batch", JsonValue::of(fit.batch));
    out.put("seq", JsonValue::of(fit.seq));
    return out.put("seq_is_all", JsonValue::of(fit.seq_is_all));
}

JsonValue stages(const Prediction& p) {
    std::vector<JsonValue> items;
    for (const StageResult& stage : p.stages) {
        JsonValue out = levels_to_json(stage.peak);
        out.put("process", JsonValue::of(stage.process));
        items.push_back(out.put("verdict", JsonValue::of(name_of(stage.verdict))));
    }
    return JsonValue::list(std::move(items));
}

JsonValue model(const ModelSpec& spec) {
    JsonValue out = JsonValue::object();
    out.put("name", JsonValue::of(std::string_view(spec.name)));
    const JsonValue config = model_to_json(spec);
    for (std::size_t i = 0; i < config.keys.size(); ++i) out.put(config.keys[i], config.items[i]);
    return out;
}

}  // namespace

std::string prediction_json(const Prediction& p, const Layout&) {
    JsonValue out = JsonValue::object();
    out.put("schema", JsonValue::of("vramfit.prediction/1"));
    out.put("verdict", JsonValue::of(name_of(p.verdict)));
    out.put("ends", ends_to_json(p));
    out.put("assumptions", assumptions_to_json(p.assumptions));
    out.put("model", model(p.model));
    out.put("plan", plan_to_json(p.plan));
    out.put("stack", stack_to_json(p.stack));
    out.put("device", device_to_json(p.device));
    out.put("highest", JsonValue::of(std::string_view(p.highest)));
    out.put("peak", levels_to_json(p.peak));
    std::vector<JsonValue> peaks;
    for (const PeakResult& one : p.peaks) peaks.push_back(peak(one));
    out.put("peaks", JsonValue::list(std::move(peaks)));
    out.put("after_load", levels_to_json(p.after_load));
    out.put("resident", levels_to_json(p.resident));
    out.put("end", levels_to_json(p.end));
    JsonValue quantities = JsonValue::object();
    for (const auto& [name, bytes] : p.quantities) quantities.put(name, JsonValue::of(bytes));
    out.put("quantities", std::move(quantities));
    out.put("managed", JsonValue::of(p.managed));
    out.put("trainable_parameters", JsonValue::of(p.trainable_parameters));
    out.put("total_parameters", JsonValue::of(p.total_parameters));
    out.put("out_of_memory", out_of_memory(p));
    out.put("retries", JsonValue::of(p.retries));
    out.put("next_larger", next_larger(p));
    if (p.changes) out.put("changes", plan_changes(*p.changes));
    if (p.largest) out.put("largest", largest(*p.largest));
    if (!p.smallest_gpu.empty()) out.put("smallest_gpu", JsonValue::of(std::string_view(p.smallest_gpu)));
    if (!p.stages.empty()) out.put("stages", stages(p));
    out.put("notes", notes_to_json(p.notes));
    return to_text(out);
}

}  // namespace vramfit::report
