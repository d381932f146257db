// Job files: configurations of peft's adapters beside LoRA, each with the keys and defaults of its class.
#include "spec/adapters/read.hpp"

#include <fmt/format.h>

#include "spec/adapters/keys.hpp"
#include "vramfit/spec/plan_names.hpp"

namespace vramfit {

namespace {

bool is_off(const JsonValue& value) {
    using Kind = JsonValue::Kind;
    switch (value.kind) {
        case Kind::null: return true;
        case Kind::boolean: return !value.boolean;
        case Kind::integer:
        case Kind::real: return value.real == 0;
        case Kind::list:
        case Kind::object: return value.items.empty();
        case Kind::text: return false;
    }
    return false;
}

void refuse_others(ObjectReader& config, const KindKeys& keys) {
    for (const std::string_view key : keys.refused) {
        const JsonValue* const value = config.value(key);
        if (value && !is_off(*value))
            config.problems().unsupported(config.path(key),
                                          fmt::format("{} is not supported with {}", key, facts_of(keys.kind).title),
                                          "leave the key out");
    }
}

/// "none", "all", or with the kind's own word: "vera_only".
void read_bias(ObjectReader& config, LoraPlan& plan) {
    const auto word = config.text("bias");
    if (!word || *word == "none") return;
    if (*word == "all")
        plan.bias = LoraBias::all;
    else if (word->ends_with("_only"))
        plan.bias = LoraBias::lora_only;
    else
        config.problems().invalid(config.path("bias"), fmt::format("unknown word '{}'", *word),
                                  fmt::format("known: none, all, {}_only", facts_of(plan.kind).name));
}

void put_layers(const LoraPlan& plan, JsonValue& out) {
    if (plan.layers_to_transform) {
        out.put("layers_to_transform", JsonValue::integers(*plan.layers_to_transform));
    }
    if (!plan.layers_pattern.empty()) out.put("layers_pattern", JsonValue::texts(plan.layers_pattern));
    if (!keys_of(plan.kind).ranks) return;
    JsonValue ranks = JsonValue::object(), alphas = JsonValue::object();
    for (const auto& [key, r] : plan.rank_pattern) ranks.put(key, JsonValue::of(r));
    for (const auto& [key, alpha] : plan.alpha_pattern) alphas.put(key, JsonValue::of(alpha));
    if (!plan.rank_pattern.empty()) out.put("rank_pattern", std::move(ranks));
    if (!plan.alpha_pattern.empty()) out.put("alpha_pattern", std::move(alphas));
}

}  // namespace

JsonValue targets_to_json(const TargetModules& modules) {
    if (const auto* text = std::get_if<std::string>(&modules)) return JsonValue::of(std::string_view(*text));
    return JsonValue::texts(std::get<std::vector<std::string>>(modules));
}

void read_token_indices(ObjectReader& config, std::string_view key, LoraPlan& plan) {
    constexpr IntegerRange kToken = {.low = 0, .high = std::int64_t{1} << 31};
    const JsonValue* const value = config.value(key);
    if (!value || value->kind == JsonValue::Kind::null) return;
    if (value->kind != JsonValue::Kind::object) {
        ObjectReader::set(plan.options.token_indices, config.integers(key, kToken));
        return;
    }
    if (value->items.size() == 1 && value->items[0].kind == JsonValue::Kind::list) {
        auto by_module = config.object(key);
        plan.options.tokens_of = value->keys[0];
        ObjectReader::set(plan.options.token_indices, by_module->integers(value->keys[0], kToken));
        return;
    }
    config.problems().unsupported(config.path(key), "trained tokens of several modules are not supported",
                                  "a list of tokens, which are those of the embedding");
}

void read_other_kind(ObjectReader& config, LoraPlan& plan) {
    const AdapterKindFacts& facts = facts_of(plan.kind);
    plan.r = facts.rank;
    if (facts.is_prompt) return read_prompt_kind(config, plan);
    if (plan.kind == AdapterKind::adaption_prompt) return read_adaption_prompt(config, plan);
    const KindKeys& keys = keys_of(plan.kind);
    if (facts.has_rank()) ObjectReader::set(plan.r, config.integer(facts.rank_key, kAtLeastOne));
    if (!keys.alpha.empty()) ObjectReader::set(plan.lora_alpha, config.real(keys.alpha));
    if (!keys.dropout.empty()) ObjectReader::set(plan.lora_dropout, config.real(keys.dropout, {.low = 0, .high = 1}));
    ObjectReader::set(plan.target_modules, read_targets(config, "target_modules"));
    if (keys.excludes) plan.exclude_modules = read_targets(config, "exclude_modules");
    ObjectReader::set(plan.modules_to_save, config.texts("modules_to_save", Null::absent));
    if (keys.layers) read_layers(config, plan);
    if (keys.ranks) read_rank_pattern(config, plan);
    if (keys.alphas) read_alpha_pattern(config, plan);
    if (keys.bias) read_bias(config, plan);
    read_own_keys(config, plan);
    for (const std::string_view key : keys.idle) config.skip(key);
    refuse_others(config, keys);
    skip_saved_keys(config);
}

JsonValue other_kind_to_json(const LoraPlan& plan) {
    const AdapterKindFacts& facts = facts_of(plan.kind);
    if (facts.is_prompt) return prompt_kind_to_json(plan);
    if (plan.kind == AdapterKind::adaption_prompt) return adaption_prompt_to_json(plan);
    const KindKeys& keys = keys_of(plan.kind);
    JsonValue out = JsonValue::object();
    out.put("peft_type", JsonValue::of(facts.peft_type));
    if (facts.has_rank()) out.put(facts.rank_key, JsonValue::of(plan.r));
    if (!keys.alpha.empty()) out.put(keys.alpha, JsonValue::of(plan.lora_alpha));
    if (!keys.dropout.empty()) out.put(keys.dropout, JsonValue::of(plan.lora_dropout));
    out.put("target_modules", targets_to_json(plan.target_modules));
    if (plan.exclude_modules) out.put("exclude_modules", targets_to_json(*plan.exclude_modules));
    if (!plan.modules_to_save.empty()) out.put("modules_to_save", JsonValue::texts(plan.modules_to_save));
    put_layers(plan, out);
    if (keys.bias)
        out.put("bias", plan.bias == LoraBias::lora_only
                            ? JsonValue::of(std::string_view(fmt::format("{}_only", facts.name)))
                            : JsonValue::of(name_of(plan.bias)));
    put_own_keys(plan, out);
    return out;
}

}  // namespace vramfit
