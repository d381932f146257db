// peft 0.21.2 tuners/*/config.py, read by the keys of job files, which are peft's own.
#include "trainers/adapter_kinds.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "spec/adapters/read.hpp"
#include "spec/job_read.hpp"
#include "spec/json_value.hpp"
#include "trainers/common.hpp"
#include "vramfit/spec/config.hpp"

namespace vramfit::trainers {

namespace {

JsonValue to_json(const Value& value);

JsonValue list_to_json(const Value& value) {
    std::vector<JsonValue> items;
    for (const Value& item : value.items) items.push_back(to_json(item));
    return JsonValue::list(std::move(items));
}

JsonValue to_json(const Value& value) {
    switch (value.kind) {
        case Value::Kind::null: return {};
        case Value::Kind::boolean: return JsonValue::of(value.boolean);
        case Value::Kind::integer: return JsonValue::of(value.integer);
        case Value::Kind::real: return JsonValue::of(value.real);
        case Value::Kind::list: return list_to_json(value);
        case Value::Kind::map: break;
        case Value::Kind::text:
        case Value::Kind::unread: return JsonValue::of(std::string_view(value.text));
    }
    JsonValue out = JsonValue::object();
    for (std::size_t i = 0; i < value.keys.size(); ++i) out.put(value.keys[i], to_json(value.items[i]));
    return out;
}

/// The keys of peft's class; the type and the task are said elsewhere.
JsonValue configuration(const Value& given, const AdapterKindFacts& facts) {
    JsonValue out = JsonValue::object();
    out.put("peft_type", JsonValue::of(facts.peft_type));
    for (std::size_t i = 0; i < given.keys.size(); ++i)
        if (given.keys[i] != "peft_type" && given.keys[i] != "task_type")
            out.put(given.keys[i], to_json(given.items[i]));
    return out;
}

}  // namespace

void read_other_adapter(Reader& reader, const std::string& prefix, std::string_view type, Draft& draft) {
    const std::string begin = prefix.empty() ? "" : prefix + ".";
    const std::string_view class_name = type.ends_with("Config") ? type.substr(0, type.size() - 6) : type;
    const AdapterKindFacts* const facts =
        find_adapter_kind(class_name == "PromptEncoder" ? "p_tuning" : class_name);  // the only class of another name
    if (!facts)
        return reader.refuse(
            begin + "peft_type",
            fmt::format("adapters of the type {} are not predicted{}", type, why_not_predicted(class_name)),
            fmt::format("supported: {}", known_peft_types()));
    const Value& given = prefix.empty() ? reader.document().root : *reader.value(prefix);
    for (std::size_t i = 0; i < given.keys.size(); ++i)
        if (given.items[i].kind == Value::Kind::unread)
            return reader.invalid(begin + given.keys[i],
                                  fmt::format("its value cannot be read, and it matters: {}", given.items[i].text),
                                  fmt::format("say it with --set {}{}=VALUE", begin, given.keys[i]));
    const JsonValue json = configuration(given, *facts);
    Problems problems("");
    LoraPlan& plan = draft.job.plan.peft.emplace(read_lora(ObjectReader(json, "", problems)));
    try {
        problems.throw_if_any();
    } catch (const Error& error) {
        for (const Problem& problem : error.problems())
            reader.refuse(begin + "peft_type", fmt::format("{}: {}", problem.where, problem.what), problem.hint);
        return;
    }
    if (!wraps_modules(*facts)) return;
    const Value* const targets = given.find("target_modules");
    if (targets && targets->kind != Value::Kind::null) return;
    const std::vector<std::string> usual = default_targets(draft.job.model, plan.kind);
    reader.assume(begin + "target_modules", fmt::format("{}", fmt::join(usual, ", ")));
    plan.target_modules = usual;
}

void read_trained_tokens(Reader& reader, const std::string& key, LoraPlan& plan) {
    const Value* value = reader.value(key);
    if (!value || value->kind == Value::Kind::null) return;
    if (value->kind == Value::Kind::map && value->items.size() == 1) {
        plan.options.tokens_of = value->keys[0];
        value = &value->items[0];
    }
    const auto is_token = [](const Value& item) { return item.kind == Value::Kind::integer && item.integer >= 0; };
    if (value->kind != Value::Kind::list || !std::all_of(value->items.begin(), value->items.end(), is_token))
        return reader.invalid(key, fmt::format("its value cannot be read: {}", value->shown()),
                              fmt::format("the numbers of the tokens: --set {}=[32000, 32001]", key));
    for (const Value& item : value->items) plan.options.token_indices.push_back(item.integer);
}

}  // namespace vramfit::trainers
