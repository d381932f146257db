// Job files: the adapters, the key `peft` with the arguments of peft's configurations.
#include <algorithm>

#include <fmt/format.h>

#include "spec/adapters/read.hpp"
#include "spec/job_read.hpp"
#include "vramfit/spec/plan_names.hpp"

namespace vramfit {

namespace {

using Kind = JsonValue::Kind;

constexpr IntegerRange kRank = {.low = 1, .high = std::int64_t{1} << 31};

// A name or a list of names.
std::vector<std::string> read_names(ObjectReader& config, std::string_view key) {
    const JsonValue* value = config.value(key);
    if (!value || value->kind == Kind::null) return {};
    if (value->kind == Kind::text) return {value->text};
    return config.texts(key).value_or(std::vector<std::string>{});
}

// An integer or a list of integers.
std::optional<std::vector<std::int64_t>> read_layer_numbers(ObjectReader& config) {
    const JsonValue* value = config.value("layers_to_transform");
    if (!value || value->kind == Kind::null) return std::nullopt;
    if (value->kind == Kind::list) return config.integers("layers_to_transform");
    if (const auto layer = config.integer("layers_to_transform")) return std::vector{*layer};
    return std::nullopt;
}

}  // namespace

std::optional<TargetModules> read_targets(ObjectReader& config, std::string_view key) {
    const JsonValue* value = config.value(key);
    if (!value || value->kind == Kind::null) return std::nullopt;
    if (value->kind == Kind::text) return TargetModules(value->text);
    if (auto names = config.texts(key)) return TargetModules(std::move(*names));
    return std::nullopt;
}

void read_layers(ObjectReader& config, LoraPlan& plan) {
    plan.layers_to_transform = read_layer_numbers(config);
    plan.layers_pattern = read_names(config, "layers_pattern");
}

void read_rank_pattern(ObjectReader& config, LoraPlan& plan) {
    if (auto ranks = config.object("rank_pattern", Null::absent)) {
        for (const std::string& key : ranks->whole().keys) {
            if (const auto rank = ranks->integer(key, kRank)) plan.rank_pattern.emplace_back(key, *rank);
        }
    }
}

void read_alpha_pattern(ObjectReader& config, LoraPlan& plan) {
    if (auto alphas = config.object("alpha_pattern", Null::absent)) {
        for (const std::string& key : alphas->whole().keys) {
            if (const auto alpha = alphas->real(key)) plan.alpha_pattern.emplace_back(key, *alpha);
        }
    }
}

void skip_saved_keys(ObjectReader& config) {
    for (const std::string_view key :
         {"auto_mapping", "peft_version", "base_model_name_or_path", "revision", "inference_mode"})
        config.skip(key);
}

namespace {

// Initializations that only fill the matrices take no memory of their own; the others read the weights or data first.
void read_initialization(ObjectReader& config, LoraPlan& plan) {
    const JsonValue* value = config.value("init_lora_weights");
    if (!value) return;
    if (value->kind == Kind::boolean) {
        plan.init_lora_weights = value->boolean ? "true" : "false";
        return;
    }
    static constexpr std::string_view plain[] = {"gaussian", "orthogonal", "pissa", "olora"};
    static constexpr std::string_view others[] = {"eva", "corda", "loftq", "lora_ga", "mica"};
    const bool pissa = value->text.starts_with("pissa_niter_");
    const std::string path = config.path("init_lora_weights");
    if (value->kind == Kind::text &&
        (pissa || std::find(std::begin(plain), std::end(plain), value->text) != std::end(plain))) {
        plan.init_lora_weights = value->text;
    } else if (value->kind == Kind::text &&
               std::find(std::begin(others), std::end(others), value->text) != std::end(others)) {
        config.problems().unsupported(path, fmt::format("the initialization '{}' is not supported", value->text),
                                      "supported: true, false, gaussian, orthogonal, pissa, olora");
    } else {
        config.problems().invalid(path, fmt::format("unknown initialization {}", value->shown()),
                                  "known: true, false, gaussian, orthogonal, pissa, olora");
    }
}

// Whether a value is what the library takes as "not used".
bool is_unused(const JsonValue& value) {
    return value.kind == Kind::null || (value.kind == Kind::boolean && !value.boolean) ||
           ((value.kind == Kind::object || value.kind == Kind::list) && value.items.empty());
}

void refuse_variants(ObjectReader& config) {
    for (const std::string_view key :
         {"megatron_config", "loftq_config", "eva_config", "corda_config", "lora_ga_config", "velora_config",
          "alora_invocation_tokens", "use_qalora", "monteclora_config", "layer_replication", "arrow_config",
          "ensure_weight_tying"}) {
        const JsonValue* value = config.value(key);
        if (value && !is_unused(*value))
            config.problems().unsupported(config.path(key), fmt::format("{} is not supported", key),
                                          "leave the key out");
    }
    for (const std::string_view key : {"megatron_core", "qalora_group_size", "runtime_config"}) config.skip(key);
    skip_saved_keys(config);
}

/// LoraConfig.use_bdlora and kasa_config; what the latter says belongs to a loss that nobody adds.
void read_layers_of_variants(ObjectReader& config, LoraPlan& plan) {
    if (auto blocks = config.object("use_bdlora", Null::absent)) {
        BlockDiagonal& read = plan.block_diagonal.emplace();
        ObjectReader::set(read.of_a, blocks->texts("target_modules_bd_a", Null::absent));
        ObjectReader::set(read.of_b, blocks->texts("target_modules_bd_b", Null::absent));
        ObjectReader::set(read.blocks, blocks->integer("nblocks", kRank));
        ObjectReader::set(read.strict, blocks->boolean("match_strict"));
        blocks->refuse_unknown();
    }
    if (auto kasa = config.object("kasa_config", Null::absent)) {
        plan.kasa = true;
        for (const std::string_view key : {"beta", "gamma"}) kasa->skip(key);
        kasa->refuse_unknown();
    }
}

AdapterKind read_kind(ObjectReader& config) {
    AdapterKind kind = AdapterKind::lora;
    if (const auto type = config.text("peft_type", Null::absent)) {
        const AdapterKindFacts* const facts = find_adapter_kind(*type);
        if (facts)
            kind = facts->kind;
        else
            config.problems().unsupported(
                config.path("peft_type"),
                fmt::format("adapters of type '{}' are not supported{}", *type, why_not_predicted(*type)),
                fmt::format("supported: {}", known_peft_types()));
    }
    const auto task = config.text("task_type", Null::absent);
    if (task && *task != "CAUSAL_LM")
        config.problems().unsupported(config.path("task_type"), fmt::format("the task '{}' is not supported", *task),
                                      "supported: CAUSAL_LM");
    return kind;
}

}  // namespace

// peft 0.21.2, tuners/lora/config.py, LoraConfig, or the configuration of the `peft_type`.
LoraPlan read_lora(ObjectReader config) {
    LoraPlan plan;
    plan.kind = read_kind(config);
    if (plan.kind != AdapterKind::lora) {
        read_other_kind(config, plan);
        config.refuse_unknown();
        return plan;
    }
    ObjectReader::set(plan.r, config.integer("r", kRank));
    ObjectReader::set(plan.lora_alpha, config.real("lora_alpha"));
    ObjectReader::set(plan.lora_dropout, config.real("lora_dropout", {.low = 0, .high = 1}));
    ObjectReader::set(plan.target_modules, read_targets(config, "target_modules"));
    plan.exclude_modules = read_targets(config, "exclude_modules");
    ObjectReader::set(plan.target_parameters, config.texts("target_parameters", Null::absent));
    ObjectReader::set(plan.use_rslora, config.boolean("use_rslora"));
    ObjectReader::set(plan.use_dora, config.boolean("use_dora"));
    ObjectReader::set(plan.bias, config.choice<LoraBias>("bias", kLoraBiasNames));
    ObjectReader::set(plan.modules_to_save, config.texts("modules_to_save", Null::absent));
    read_layers(config, plan);
    read_rank_pattern(config, plan);
    read_alpha_pattern(config, plan);
    read_token_indices(config, "trainable_token_indices", plan);
    ObjectReader::set(plan.fan_in_fan_out, config.boolean("fan_in_fan_out"));
    ObjectReader::set(plan.lora_bias, config.boolean("lora_bias"));
    read_initialization(config, plan);
    read_layers_of_variants(config, plan);
    refuse_variants(config);
    config.refuse_unknown();
    return plan;
}

}  // namespace vramfit
