// Job files: configurations of peft's adapters beside LoRA, each with the keys and defaults of its class.
#include "spec/adapters/read.hpp"

#include <span>

#include <fmt/format.h>

#include "vramfit/spec/plan_names.hpp"

namespace vramfit {

namespace {

constexpr IntegerRange kCountOfParts = {.low = 0, .high = std::int64_t{1} << 31};

bool has_layers(AdapterKind kind) {
    return kind != AdapterKind::ia3 && kind != AdapterKind::ln_tuning && kind != AdapterKind::trainable_tokens &&
           kind != AdapterKind::road;
}

bool has_patterns(AdapterKind kind) { return kind == AdapterKind::loha || kind == AdapterKind::lokr; }

bool has_bias(AdapterKind kind) {
    return kind == AdapterKind::vera || kind == AdapterKind::oft || kind == AdapterKind::hra ||
           kind == AdapterKind::miss || kind == AdapterKind::adalora || kind == AdapterKind::randlora ||
           kind == AdapterKind::vblora;
}

/// What the key of the dropout in front of the adapter is.
std::string_view dropout_key(AdapterKind kind) {
    switch (kind) {
        case AdapterKind::vera: return "vera_dropout";
        case AdapterKind::miss: return "miss_dropout";
        case AdapterKind::adalora: return "lora_dropout";
        case AdapterKind::randlora: return "randlora_dropout";
        case AdapterKind::vblora: return "vblora_dropout";
        default: return {};
    }
}

std::string_view alpha_key(AdapterKind kind) {
    if (has_patterns(kind)) return "alpha";
    return kind == AdapterKind::adalora ? "lora_alpha" : std::string_view();
}

/// Keys that say nothing about memory.
std::span<const std::string_view> idle_keys(AdapterKind kind) {
    static constexpr std::string_view kIa3[] = {"fan_in_fan_out", "init_ia3_weights"};
    static constexpr std::string_view kLyCoris[] = {"use_effective_conv2d", "init_weights", "rank_dropout_scale"};
    static constexpr std::string_view kVera[] = {"projection_prng_key", "save_projection", "d_initial",
                                                 "fan_in_fan_out", "init_weights"};
    static constexpr std::string_view kOft[] = {"fan_in_fan_out", "init_weights", "eps"};
    static constexpr std::string_view kMiss[] = {"mini_r"};
    static constexpr std::string_view kInitialization[] = {"init_weights"};
    static constexpr std::string_view kRandLora[] = {"projection_prng_key", "save_projection", "sparse",
                                                     "very_sparse",         "fan_in_fan_out",  "randlora_alpha",
                                                     "init_weights"};
    static constexpr std::string_view kVbLora[] = {"save_only_topk_weights", "fan_in_fan_out", "init_vector_bank_bound",
                                                   "init_logits_std"};
    static constexpr std::string_view kAdaLora[] = {"r",
                                                    "fan_in_fan_out",
                                                    "use_rslora",
                                                    "init_lora_weights",
                                                    "target_r",
                                                    "tinit",
                                                    "tfinal",
                                                    "deltaT",
                                                    "beta1",
                                                    "beta2",
                                                    "total_step",
                                                    "qalora_group_size",
                                                    "megatron_core",
                                                    "runtime_config"};
    switch (kind) {
        case AdapterKind::ia3: return kIa3;
        case AdapterKind::loha:
        case AdapterKind::lokr: return kLyCoris;
        case AdapterKind::vera: return kVera;
        case AdapterKind::oft: return kOft;
        case AdapterKind::miss: return kMiss;
        case AdapterKind::adalora: return kAdaLora;
        case AdapterKind::hra:
        case AdapterKind::road:
        case AdapterKind::trainable_tokens: return kInitialization;
        case AdapterKind::randlora: return kRandLora;
        case AdapterKind::vblora: return kVbLora;
        default: return {};
    }
}

/// Keys whose effect is not predicted, refused unless they are off.
std::span<const std::string_view> refused_keys(AdapterKind kind) {
    static constexpr std::string_view kLyCoris[] = {"rank_dropout", "module_dropout"};
    static constexpr std::string_view kOft[] = {"module_dropout", "coft"};
    static constexpr std::string_view kHra[] = {"apply_GS"};
    static constexpr std::string_view kAdaLora[] = {
        "rank_pattern", "alpha_pattern", "megatron_config", "trainable_token_indices", "loftq_config",
        "eva_config",   "corda_config",  "use_dora",        "velora_config",           "alora_invocation_tokens",
        "use_qalora",   "lora_bias",     "lora_ga_config",  "layer_replication",       "target_parameters",
        "use_bdlora",   "arrow_config",  "kasa_config",     "monteclora_config",       "ensure_weight_tying"};
    switch (kind) {
        case AdapterKind::loha:
        case AdapterKind::lokr: return kLyCoris;
        case AdapterKind::oft: return kOft;
        case AdapterKind::hra: return kHra;
        case AdapterKind::adalora: return kAdaLora;
        default: return {};
    }
}

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

void refuse_others(ObjectReader& config, AdapterKind kind) {
    for (const std::string_view key : refused_keys(kind)) {
        const JsonValue* const value = config.value(key);
        if (value && !is_off(*value))
            config.problems().unsupported(config.path(key),
                                          fmt::format("{} is not supported with {}", key, facts_of(kind).title),
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

/// MissConfig.init_weights: true, false, "bat" or "mini".
void read_miss_weights(ObjectReader& config) {
    const JsonValue* const value = config.value("init_weights");
    if (!value || value->kind == JsonValue::Kind::boolean) return;
    if (value->kind == JsonValue::Kind::text && (value->text == "bat" || value->text == "mini"))
        config.problems().unsupported(config.path("init_weights"),
                                      fmt::format("MiSS in its form '{}' is not supported", value->text),
                                      "supported: true, false");
    else
        config.problems().invalid(config.path("init_weights"), fmt::format("unknown value {}", value->shown()),
                                  "known: true, false, bat, mini");
}

/// OFTConfig.__post_init__ and OFTLayer.update_layer: one of both, the other one 0.
void read_oft(ObjectReader& config, LoraPlan& plan) {
    AdapterOptions& options = plan.options;
    ObjectReader::set(options.blocks, config.integer("r", kCountOfParts));
    ObjectReader::set(options.block_size, config.integer("oft_block_size", kCountOfParts));
    ObjectReader::set(options.block_share, config.boolean("block_share"));
    ObjectReader::set(options.use_cayley_neumann, config.boolean("use_cayley_neumann"));
    ObjectReader::set(options.cayley_neumann_terms, config.integer("num_cayley_neumann_terms", kCountOfParts));
    if ((options.blocks == 0) == (options.block_size == 0))
        config.problems().invalid(config.path("oft_block_size"),
                                  fmt::format("r is {} and oft_block_size {}: exactly one of them has to be 0 (peft)",
                                              options.blocks, options.block_size),
                                  "r: 0 with a block size, or oft_block_size: 0 with a number of blocks");
    if (!options.use_cayley_neumann)
        config.problems().unsupported(config.path("use_cayley_neumann"),
                                      "OFT that solves for its rotations is not supported", "true");
}

/// RoadConfig: the variant's number is that of parameters for two outputs.
void read_road(ObjectReader& config, AdapterOptions& options) {
    static constexpr Named<std::int64_t> kVariants[] = {{"road_1", 1}, {"road_2", 2}, {"road_4", 4}};
    ObjectReader::set(options.road_variant, config.choice<std::int64_t>("variant", kVariants));
    ObjectReader::set(options.group_size, config.integer("group_size", kAtLeastOne));
}

void read_own_keys(ObjectReader& config, LoraPlan& plan) {
    AdapterOptions& options = plan.options;
    switch (plan.kind) {
        case AdapterKind::ia3: options.feedforward_modules = read_targets(config, "feedforward_modules"); break;
        case AdapterKind::lokr:
            ObjectReader::set(options.decompose_both, config.boolean("decompose_both"));
            ObjectReader::set(options.decompose_factor,
                              config.integer("decompose_factor", {.low = -1, .high = std::int64_t{1} << 31}));
            break;
        case AdapterKind::oft: read_oft(config, plan); break;
        case AdapterKind::miss: read_miss_weights(config); break;
        case AdapterKind::adalora: ObjectReader::set(options.orth_reg_weight, config.real("orth_reg_weight")); break;
        case AdapterKind::trainable_tokens: read_token_indices(config, "token_indices", plan); break;
        case AdapterKind::road: read_road(config, options); break;
        case AdapterKind::vblora:
            ObjectReader::set(options.num_vectors, config.integer("num_vectors", kAtLeastOne));
            ObjectReader::set(options.vector_length, config.integer("vector_length", kAtLeastOne));
            ObjectReader::set(options.topk, config.integer("topk", kAtLeastOne));
            break;
        default: break;
    }
}

JsonValue targets_to_json(const TargetModules& modules) {
    if (const auto* text = std::get_if<std::string>(&modules)) return JsonValue::of(std::string_view(*text));
    return JsonValue::texts(std::get<std::vector<std::string>>(modules));
}

void put_own_keys(const LoraPlan& plan, JsonValue& out) {
    const AdapterOptions& options = plan.options;
    switch (plan.kind) {
        case AdapterKind::ia3:
            if (options.feedforward_modules)
                out.put("feedforward_modules", targets_to_json(*options.feedforward_modules));
            break;
        case AdapterKind::lokr:
            out.put("decompose_both", JsonValue::of(options.decompose_both));
            out.put("decompose_factor", JsonValue::of(options.decompose_factor));
            break;
        case AdapterKind::oft:
            out.put("r", JsonValue::of(options.blocks));
            out.put("oft_block_size", JsonValue::of(options.block_size));
            out.put("block_share", JsonValue::of(options.block_share));
            out.put("use_cayley_neumann", JsonValue::of(options.use_cayley_neumann));
            out.put("num_cayley_neumann_terms", JsonValue::of(options.cayley_neumann_terms));
            break;
        case AdapterKind::adalora: out.put("orth_reg_weight", JsonValue::of(options.orth_reg_weight)); break;
        case AdapterKind::trainable_tokens: out.put("token_indices", JsonValue::integers(options.token_indices)); break;
        case AdapterKind::road:
            out.put("variant", JsonValue::of(std::string_view(fmt::format("road_{}", options.road_variant))));
            out.put("group_size", JsonValue::of(options.group_size));
            break;
        case AdapterKind::vblora:
            out.put("num_vectors", JsonValue::of(options.num_vectors));
            out.put("vector_length", JsonValue::of(options.vector_length));
            out.put("topk", JsonValue::of(options.topk));
            break;
        default: break;
    }
}

void put_layers(const LoraPlan& plan, JsonValue& out) {
    if (plan.layers_to_transform) {
        out.put("layers_to_transform", JsonValue::integers(*plan.layers_to_transform));
    }
    if (!plan.layers_pattern.empty()) out.put("layers_pattern", JsonValue::texts(plan.layers_pattern));
    if (!has_patterns(plan.kind)) return;
    JsonValue ranks = JsonValue::object(), alphas = JsonValue::object();
    for (const auto& [key, r] : plan.rank_pattern) ranks.put(key, JsonValue::of(r));
    for (const auto& [key, alpha] : plan.alpha_pattern) alphas.put(key, JsonValue::of(alpha));
    if (!plan.rank_pattern.empty()) out.put("rank_pattern", std::move(ranks));
    if (!plan.alpha_pattern.empty()) out.put("alpha_pattern", std::move(alphas));
}

}  // namespace

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
    if (facts.has_rank()) ObjectReader::set(plan.r, config.integer(facts.rank_key, kAtLeastOne));
    if (const std::string_view key = alpha_key(plan.kind); !key.empty())
        ObjectReader::set(plan.lora_alpha, config.real(key));
    if (const std::string_view key = dropout_key(plan.kind); !key.empty())
        ObjectReader::set(plan.lora_dropout, config.real(key, {.low = 0, .high = 1}));
    ObjectReader::set(plan.target_modules, read_targets(config, "target_modules"));
    if (plan.kind != AdapterKind::vera) plan.exclude_modules = read_targets(config, "exclude_modules");
    ObjectReader::set(plan.modules_to_save, config.texts("modules_to_save", Null::absent));
    if (has_layers(plan.kind)) read_layers(config, plan);
    if (has_patterns(plan.kind)) read_patterns(config, plan);
    if (has_bias(plan.kind)) read_bias(config, plan);
    read_own_keys(config, plan);
    for (const std::string_view key : idle_keys(plan.kind)) config.skip(key);
    refuse_others(config, plan.kind);
    skip_saved_keys(config);
}

JsonValue other_kind_to_json(const LoraPlan& plan) {
    const AdapterKindFacts& facts = facts_of(plan.kind);
    if (facts.is_prompt) return prompt_kind_to_json(plan);
    JsonValue out = JsonValue::object();
    out.put("peft_type", JsonValue::of(facts.peft_type));
    if (facts.has_rank()) out.put(facts.rank_key, JsonValue::of(plan.r));
    if (const std::string_view key = alpha_key(plan.kind); !key.empty()) out.put(key, JsonValue::of(plan.lora_alpha));
    if (const std::string_view key = dropout_key(plan.kind); !key.empty())
        out.put(key, JsonValue::of(plan.lora_dropout));
    out.put("target_modules", targets_to_json(plan.target_modules));
    if (plan.exclude_modules) out.put("exclude_modules", targets_to_json(*plan.exclude_modules));
    if (!plan.modules_to_save.empty()) out.put("modules_to_save", JsonValue::texts(plan.modules_to_save));
    put_layers(plan, out);
    if (has_bias(plan.kind))
        out.put("bias", plan.bias == LoraBias::lora_only
                            ? JsonValue::of(std::string_view(fmt::format("{}_only", facts.name)))
                            : JsonValue::of(name_of(plan.bias)));
    put_own_keys(plan, out);
    return out;
}

}  // namespace vramfit
