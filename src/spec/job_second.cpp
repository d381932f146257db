// Job files: networks beside the one that is trained, `reward_models`, `reward_functions`, `teacher`, `value_model` and
// `ref_model` of the key `loop`.
#include <utility>

#include <fmt/format.h>

#include "spec/job_read.hpp"
#include "vramfit/spec/config.hpp"
#include "vramfit/spec/plan_names.hpp"

namespace vramfit {

namespace {

constexpr IntegerRange kTokensOfRow = {.low = 1, .high = std::int64_t{1} << 31};

/// {"": 0}, or a quantizer, which needs a card: the script loads it there. Null: trl moves it.
void read_place(ObjectReader& reader, SecondNetwork& out) {
    const JsonValue* map = reader.value("device_map");
    if (!map || map->kind == JsonValue::Kind::null) return;
    const JsonValue* whole = map->kind == JsonValue::Kind::object && map->keys.size() == 1 ? map->find("") : nullptr;
    if (whole && whole->kind == JsonValue::Kind::integer && whole->integer == 0)
        out.on_device = true;
    else
        reader.problems().unsupported(reader.path("device_map"), "other device maps are not supported",
                                      "write {\"\": 0} for the one GPU, or null for host memory");
}

SecondNetwork read_second(ObjectReader reader, const Environment& environment) {
    SecondNetwork out;
    read_model_key(reader, environment, out.model);
    out.dtype = reader.choice<DType>("dtype", kLoadDTypes, Null::absent);
    ObjectReader::set(out.attention,
                      reader.choice<AttentionImplementation>("attn_implementation", kAttentionNames, Null::absent));
    read_place(reader, out);
    if (auto config = reader.object("quantization_config", Null::absent))
        out.quantization = read_quantization(std::move(*config));
    out.sequence_length = reader.integer("sequence_length", kTokensOfRow, Null::absent);
    reader.refuse_unknown();
    if (reader.problems().none()) out.model = as_loaded(out.model, {});
    return out;
}

JsonValue second_to_json(const SecondNetwork& second) {
    JsonValue out = JsonValue::object();
    out.put("model", model_to_value(second.model));
    if (second.dtype) out.put("dtype", JsonValue::of(name_of(*second.dtype)));
    out.put("attn_implementation", JsonValue::of(name_of(second.attention)));
    if (second.on_device) out.put("device_map", JsonValue::object().put("", JsonValue::of(std::int64_t{0})));
    if (second.quantization) out.put("quantization_config", quantization_to_json(*second.quantization));
    if (second.sequence_length) out.put("sequence_length", JsonValue::of(*second.sequence_length));
    return out;
}

}  // namespace

void read_seconds(ObjectReader& loop, const Environment& environment, TrainPlan& plan) {
    const JsonValue* models = loop.value("reward_models");
    if (models && models->kind != JsonValue::Kind::null && models->kind != JsonValue::Kind::list)
        loop.problems().invalid(loop.path("reward_models"),
                                fmt::format("a list of networks is wanted, not {}", models->shown()),
                                R"([{"model": "..."}])");
    for (std::size_t i = 0; models && i < models->items.size(); ++i)
        plan.reward_models.push_back(read_second(
            ObjectReader(models->items[i], fmt::format("{}/{}", loop.path("reward_models"), i), loop.problems()),
            environment));
    if (auto teacher = loop.object("teacher", Null::absent))
        plan.teacher = read_second(std::move(*teacher), environment);
    if (auto value = loop.object("value_model", Null::absent))
        plan.value_model = read_second(std::move(*value), environment);
    ObjectReader::set(plan.preference.ppo.reference_is_given, loop.boolean("ref_model", Null::absent));
    const auto functions = loop.integer("reward_functions", {.low = 0, .high = 1000}, Null::absent);
    plan.preference.grpo.reward_functions = functions.value_or(plan.reward_models.empty() ? 1 : 0);
}

void put_seconds(const TrainPlan& plan, JsonValue& loop) {
    std::vector<JsonValue> models;
    for (const SecondNetwork& model : plan.reward_models) models.push_back(second_to_json(model));
    const std::int64_t functions = plan.preference.grpo.reward_functions;
    if (plan.value_model) loop.put("value_model", second_to_json(*plan.value_model));
    if (plan.preference.ppo.reference_is_given) loop.put("ref_model", JsonValue::of(true));
    if (functions != (models.empty() ? 1 : 0)) loop.put("reward_functions", JsonValue::of(functions));
    if (!models.empty()) loop.put("reward_models", JsonValue::list(std::move(models)));
    if (plan.teacher) loop.put("teacher", second_to_json(*plan.teacher));
}

}  // namespace vramfit
