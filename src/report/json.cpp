// Parts of the JSON documents that several of them share.
#include "report/json.hpp"

#include <fmt/format.h>

#include "spec/json_parse.hpp"
#include "vramfit/spec/job.hpp"
#include "vramfit/spec/stacks.hpp"

namespace vramfit::report {

JsonValue plan_to_json(const TrainPlan& plan) {
    Problems problems("plan");
    JsonValue value = parse_json(to_json_text(plan), problems);
    problems.throw_if_any();
    return value;
}

JsonValue stack_to_json(const Stack& stack) {
    JsonValue out = JsonValue::object();
    out.put("name", JsonValue::of(std::string_view(stack.name)));
    for (const std::string_view library : stack_libraries()) {
        const Version& version = version_of(stack, library);
        out.put(library, version == Version{} ? JsonValue{} : JsonValue::of(std::string_view(text_of(version))));
    }
    return out;
}

JsonValue device_to_json(const Device& device) {
    const auto if_known = [&](Bytes bytes) { return device.capacity_known ? JsonValue::of(bytes.count) : JsonValue{}; };
    JsonValue out = JsonValue::object();
    out.put("name", JsonValue::of(std::string_view(device.name)));
    out.put("capacity", if_known(device.total));
    out.put("context", JsonValue::of(device.context.count));
    out.put("reserve", JsonValue::of(device.reserve.count));
    out.put("usable", if_known(device.usable));
    out.put("usable_low", if_known(device.usable_low()));
    out.put("usable_high", if_known(device.usable_high()));
    out.put("capability",
            JsonValue::of(std::string_view(fmt::format("{}.{}", device.capability.major, device.capability.minor))));
    out.put("multiprocessors", JsonValue::of(std::int64_t{device.multiprocessors}));
    out.put("alloc_conf", JsonValue::of(std::string_view(device.alloc_conf)));
    return out;
}

JsonValue assumptions_to_json(const Assumptions& assumptions) {
    std::vector<JsonValue> items;
    for (const Assumption& one : assumptions) {
        JsonValue item = JsonValue::object();
        item.put("kind", JsonValue::of(name_of(one.kind)));
        item.put("least", JsonValue::of(one.least.count));
        item.put("assumed", JsonValue::of(one.assumed.count));
        item.put("most", JsonValue::of(one.most.count));
        item.put("what", JsonValue::of(std::string_view(one.what)));
        item.put("source", JsonValue::of(std::string_view(one.source)));
        items.push_back(item.put("measure", JsonValue::of(std::string_view(one.measure))));
    }
    return JsonValue::list(std::move(items));
}

JsonValue ends_to_json(const Prediction& p) {
    if (!p.device.capacity_known) return {};
    const auto end = [](Bytes usable, Verdict verdict) {
        JsonValue out = JsonValue::object();
        out.put("usable", JsonValue::of(usable.count));
        return out.put("verdict", JsonValue::of(name_of(verdict)));
    };
    JsonValue out = JsonValue::object();
    out.put("worst", end(p.usable_low(), p.ends.worst));
    return out.put("best", end(p.usable_high(), p.ends.best));
}

JsonValue levels_to_json(const Levels& levels) {
    JsonValue out = JsonValue::object();
    out.put("requested", JsonValue::of(levels.requested));
    out.put("allocated", JsonValue::of(levels.allocated));
    return out.put("reserved", JsonValue::of(levels.reserved));
}

JsonValue notes_to_json(const Notes& notes) {
    std::vector<JsonValue> items;
    for (const Note& note : notes) {
        JsonValue item = JsonValue::object();
        item.put("kind", JsonValue::of(name_of(note.kind)));
        item.put("text", JsonValue::of(std::string_view(note.text)));
        items.push_back(item.put("hint", JsonValue::of(std::string_view(note.hint))));
    }
    return JsonValue::list(std::move(items));
}

}  // namespace vramfit::report
