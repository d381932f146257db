// DeepSpeed's ZeRO as its own configuration and accelerate's say it.
#include "trainers/zero.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "spec/job_deepspeed.hpp"

namespace vramfit::trainers {

namespace {

constexpr const char* kZeroStage = "distributed.deepspeed.zero_optimization.stage";
constexpr const char* kZeroOptimizer = "distributed.deepspeed.zero_optimization.offload_optimizer";
constexpr const char* kZeroParam = "distributed.deepspeed.zero_optimization.offload_param";
constexpr const char* kZeroSteps = "distributed.deepspeed.gradient_accumulation_steps";
constexpr const char* kZeroClip = "distributed.deepspeed.gradient_clipping";
constexpr const char* kZeroExperts = "experts that are gathered together are not predicted";
constexpr const char* kZeroFile = "DeepSpeed is predicted where its JSON can be read: give it as a further file";

// accelerate 1.15.0, utils/launch.py prepare_deepspeed_cmd_env.
constexpr KeyRow kAccelerateZeroRows[] = {
    {"use_deepspeed", KeyUse::used, "distributed", ""},
    {"deepspeed_config.zero_stage", KeyUse::used, kZeroStage, "1|2"},
    {"zero_stage", KeyUse::used, kZeroStage, "1|2"},
    {"deepspeed_config.offload_optimizer_device", KeyUse::used, kZeroOptimizer, "none|cpu"},
    {"offload_optimizer_device", KeyUse::used, kZeroOptimizer, "none|cpu"},
    {"deepspeed_config.offload_param_device", KeyUse::used, kZeroParam, "none|nvme"},
    {"offload_param_device", KeyUse::used, kZeroParam, "none|nvme"},
    {"deepspeed_config.gradient_accumulation_steps", KeyUse::used, kZeroSteps, "1|2"},
    {"gradient_accumulation_steps", KeyUse::used, kZeroSteps, "1|2"},
    {"deepspeed_config.gradient_clipping", KeyUse::used, kZeroClip, "1.0|2.0"},
    {"gradient_clipping", KeyUse::used, kZeroClip, "1.0|2.0"},
    {"deepspeed_config.deepspeed_config_file", KeyUse::unsupported, kZeroFile},
    {"deepspeed_config_file", KeyUse::unsupported, kZeroFile},
    {"deepspeed_config.deepspeed_moe_layer_cls_names", KeyUse::unsupported, kZeroExperts},
    {"deepspeed_moe_layer_cls_names", KeyUse::unsupported, kZeroExperts},
    {"deepspeed_config.zero3_init_flag", KeyUse::harmless, "transformers looks at the stage alone"},
    {"zero3_init_flag", KeyUse::harmless, "transformers looks at the stage alone"},
    {"deepspeed_config.zero3_save_16bit_model", KeyUse::harmless},
    {"zero3_save_16bit_model", KeyUse::harmless},
    {"deepspeed_config.offload_optimizer_nvme_path", KeyUse::harmless},
    {"offload_optimizer_nvme_path", KeyUse::harmless},
    {"deepspeed_config.offload_param_nvme_path", KeyUse::harmless},
    {"offload_param_nvme_path", KeyUse::harmless},
    {"deepspeed_config.deepspeed_multinode_launcher", KeyUse::harmless},
    {"deepspeed_multinode_launcher", KeyUse::harmless},
    {"deepspeed_config.deepspeed_hostfile", KeyUse::harmless},
    {"deepspeed_hostfile", KeyUse::harmless},
    {"deepspeed_config.deepspeed_exclusion_filter", KeyUse::harmless},
    {"deepspeed_exclusion_filter", KeyUse::harmless},
    {"deepspeed_config.deepspeed_inclusion_filter", KeyUse::harmless},
    {"deepspeed_inclusion_filter", KeyUse::harmless},
};

/// The same value for the reader of job files.
JsonValue as_json(const Value& value) {
    switch (value.kind) {
        case Value::Kind::null: return {};
        case Value::Kind::boolean: return JsonValue::of(value.boolean);
        case Value::Kind::integer: return JsonValue::of(value.integer);
        case Value::Kind::real: return JsonValue::of(value.real);
        case Value::Kind::text:
        case Value::Kind::unread: return JsonValue::of(std::string_view(value.text));
        case Value::Kind::list: {
            std::vector<JsonValue> items;
            for (const Value& item : value.items) items.push_back(as_json(item));
            return JsonValue::list(std::move(items));
        }
        case Value::Kind::map: break;
    }
    JsonValue out = JsonValue::object();
    for (std::size_t i = 0; i < value.keys.size(); ++i) out.put(value.keys[i], as_json(value.items[i]));
    return out;
}

/// "/zero_optimization/stage" as the path of a key.
std::string key_of(std::string_view json_path) {
    std::string key(json_path.substr(std::min(json_path.find('/') + 1, json_path.size())));
    std::replace(key.begin(), key.end(), '/', '.');
    return key;
}

/// Every value of the sections that decide, with its place.
void note_values(Reader& reader, const std::string& path, const Value& value) {
    for (std::size_t i = 0; i < value.keys.size(); ++i) note_values(reader, path + "." + value.keys[i], value.items[i]);
    if (value.kind == Value::Kind::map) return;
    reader.reading().inputs.push_back({"distributed.deepspeed." + path,
                                       value.kind == Value::Kind::list ? "a list" : written(value), InputSource::file,
                                       path, reader.place(path)});
}

/// Refuses what is not known of the trainer; true if so.
bool refuse_trainer(Reader& reader, const std::string& key, std::int64_t stage, const Draft& draft) {
    const char* why = stage == 3 ? draft.no_zero3 : draft.no_zero;
    if (why) reader.refuse(key, why, "without DeepSpeed it is predicted");
    return why != nullptr;
}

/// Under ZeRO-3 zero.Init cuts what is loaded, wherever the trainer would have it.
void divide_by_zero(const ZeroPlan& plan, Draft& draft) {
    draft.processes.emplace().method = plan;
    draft.processes->load_on_device = draft.loads_on_card && plan.stage < 3;
}

std::string option_key(Reader& reader, std::string_view name) {
    std::string key = fmt::format("deepspeed_config.{}", name);
    return !reader.has(key) && reader.has(name) ? std::string(name) : key;
}

bool is_offloaded(Reader& reader, std::string_view name) {
    const std::string key = option_key(reader, name);
    const std::string device = reader.text_or(key, "none");
    if (device != "none" && device != "cpu" && device != "None")
        reader.refuse(key, fmt::format("'{}' is not predicted", device), "cpu or none");
    return device == "cpu";
}

}  // namespace

const std::span<const KeyRow> kZeroOfAccelerate = kAccelerateZeroRows;

void allow_zero(Draft& draft) { draft.no_zero = draft.no_zero3 = nullptr; }

void read_zero(Reader& reader, Draft& draft) {
    const Value& root = reader.document().root;
    const JsonValue json = as_json(root);
    Problems problems("");
    const ZeroPlan plan = read_deepspeed(ObjectReader(json, "", problems));
    try {
        problems.throw_if_any();
    } catch (const Error& error) {
        for (const Problem& each : error.problems()) {
            if (error.kind() == ErrorKind::unsupported)
                reader.refuse(key_of(each.where), each.what, each.hint);
            else
                reader.invalid(key_of(each.where), each.what, each.hint);
        }
        return;
    }
    for (const char* key : {"zero_optimization", "bf16", "bfloat16", "fp16", "optimizer", "gradient_clipping",
                            "gradient_accumulation_steps", "train_micro_batch_size_per_gpu", "train_batch_size"})
        if (const Value* value = reader.value(key)) note_values(reader, key, *value);
    divide_by_zero(plan, draft);
    if (refuse_trainer(reader, "zero_optimization.stage", plan.stage, draft)) return;
    reader.derive("distributed.deepspeed", fmt::format("ZeRO-{}", plan.stage), "DeepSpeed's configuration");
}

// accelerate 1.15.0, utils/dataclasses.py DeepSpeedPlugin.__post_init__ without a file: sizes of buckets stay
// DeepSpeed's own. transformers 5.17.0, integrations/deepspeed.py trainer_config_process: what does not match stops.
void read_zero_of_accelerate(Reader& reader, const std::string& precision, Draft& draft) {
    ZeroPlan plan;
    const std::string stage = option_key(reader, "zero_stage");
    plan.stage = reader.integer_or(stage, 2, {.low = 0, .high = 3});
    if (plan.stage == 0) reader.refuse(stage, "DeepSpeed without ZeRO is not predicted", "1, 2 or 3");
    plan.offload_optimizer = is_offloaded(reader, "offload_optimizer_device");
    plan.offload_param = is_offloaded(reader, "offload_param_device") && plan.stage == 3;
    const std::string steps = option_key(reader, "gradient_accumulation_steps");
    const Value* given = reader.value(steps);
    if (given && given->text != "auto")
        plan.gradient_accumulation_steps = reader.integer(steps, {.low = 1, .high = 10'000});
    const std::string clip = option_key(reader, "gradient_clipping");
    const Value* limit = reader.value(clip);
    plan.gradient_clipping.reset();
    if (limit && limit->text != "auto") plan.gradient_clipping = reader.real(clip);
    if (plan.gradient_clipping == 0.0) plan.gradient_clipping = 1;  // not written: as a key that is left out
    const TrainingPlan& training = draft.job.plan.training;
    plan.bf16 = training.bf16 || precision == "bf16";
    divide_by_zero(plan, draft);
    if (!draft.training_read || refuse_trainer(reader, stage, plan.stage, draft)) return;
    if (plan.bf16 == true && !training.bf16)
        reader.invalid("mixed_precision", "Trainer stops: TrainingArguments' bf16 does not say so",
                       "bf16: true there too");
}

}  // namespace vramfit::trainers
