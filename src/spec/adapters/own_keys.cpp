// The keys that only one kind of adapters has (peft 0.21.2, tuners/*/config.py).
#include <algorithm>
#include <regex>
#include <variant>

#include <fmt/format.h>

#include "spec/adapters/keys.hpp"
#include "spec/adapters/read.hpp"
#include "spec/regular_expression.hpp"

namespace vramfit {

namespace {

constexpr IntegerRange kCountOfParts = {.low = 0, .high = std::int64_t{1} << 31};

using Member = std::variant<bool AdapterOptions::*, std::int64_t AdapterOptions::*, double AdapterOptions::*>;

/// A key whose value is kept as it is.
struct OwnKey {
    AdapterKind kind;
    std::string_view name;
    Member member;
    IntegerRange range = kAtLeastOne;
};

constexpr OwnKey kOwnKeys[] = {
    {AdapterKind::lokr, "decompose_both", &AdapterOptions::decompose_both},
    {AdapterKind::lokr,
     "decompose_factor",
     &AdapterOptions::decompose_factor,
     {.low = -1, .high = std::int64_t{1} << 31}},
    {AdapterKind::oft, "r", &AdapterOptions::blocks, kCountOfParts},
    {AdapterKind::oft, "oft_block_size", &AdapterOptions::block_size, kCountOfParts},
    {AdapterKind::oft, "block_share", &AdapterOptions::block_share},
    {AdapterKind::oft, "use_cayley_neumann", &AdapterOptions::use_cayley_neumann},
    {AdapterKind::oft, "num_cayley_neumann_terms", &AdapterOptions::cayley_neumann_terms, kCountOfParts},
    {AdapterKind::adalora, "orth_reg_weight", &AdapterOptions::orth_reg_weight},
    {AdapterKind::road, "group_size", &AdapterOptions::group_size},
    {AdapterKind::vblora, "num_vectors", &AdapterOptions::num_vectors},
    {AdapterKind::vblora, "vector_length", &AdapterOptions::vector_length},
    {AdapterKind::vblora, "topk", &AdapterOptions::topk},
    {AdapterKind::gralora, "hybrid_r", &AdapterOptions::hybrid_r, kCountOfParts},
    {AdapterKind::gralora, "gralora_k", &AdapterOptions::gralora_k},
    {AdapterKind::unilora, "theta_d_length", &AdapterOptions::theta_d_length},
    {AdapterKind::lily, "stride_A", &AdapterOptions::stride_a},
    {AdapterKind::lily, "num_B", &AdapterOptions::num_b, {.low = 2, .high = std::int64_t{1} << 31}},
    {AdapterKind::deft, "para", &AdapterOptions::para},
    {AdapterKind::deft, "init_weights", &AdapterOptions::init_weights},
    {AdapterKind::peanut, "depth", &AdapterOptions::depth, kCountOfParts},
    {AdapterKind::tinylora, "u", &AdapterOptions::u},
    {AdapterKind::tinylora, "weight_tying", &AdapterOptions::weight_tying},
    {AdapterKind::psoft, "psoft_orth", &AdapterOptions::psoft_orth},
    {AdapterKind::psoft, "psoft_mag_a", &AdapterOptions::psoft_mag_a},
    {AdapterKind::psoft, "psoft_mag_b", &AdapterOptions::psoft_mag_b},
    {AdapterKind::psoft, "use_cayley_neumann", &AdapterOptions::psoft_neumann},
    {AdapterKind::psoft, "num_cayley_neumann_terms", &AdapterOptions::cayley_neumann_terms, kCountOfParts},
};

void read_key(ObjectReader& config, const OwnKey& key, AdapterOptions& options) {
    if (const auto* flag = std::get_if<bool AdapterOptions::*>(&key.member))
        ObjectReader::set(options.**flag, config.boolean(key.name));
    if (const auto* count = std::get_if<std::int64_t AdapterOptions::*>(&key.member))
        ObjectReader::set(options.**count, config.integer(key.name, key.range));
    if (const auto* number = std::get_if<double AdapterOptions::*>(&key.member))
        ObjectReader::set(options.**number, config.real(key.name));
}

void put_key(const OwnKey& key, const AdapterOptions& options, JsonValue& out) {
    std::visit([&](const auto member) { out.put(key.name, JsonValue::of(options.*member)); }, key.member);
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
void check_oft(ObjectReader& config, const AdapterOptions& options) {
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
constexpr Named<std::int64_t> kRoadVariants[] = {{"road_1", 1}, {"road_2", 2}, {"road_4", 4}};

constexpr Named<GloraPath> kGloraPaths[] = {{"lora", GloraPath::lora},
                                            {"vector", GloraPath::vector},
                                            {"constant", GloraPath::constant},
                                            {"none", GloraPath::none}};
constexpr Named<GloraPath> kGloraOfC[] = {
    {"lora", GloraPath::lora}, {"vector", GloraPath::vector}, {"none", GloraPath::none}};
constexpr std::span<const Named<GloraPath>> kGloraOfDE = std::span(kGloraPaths).subspan(1);

void read_glora(ObjectReader& config, AdapterOptions& options) {
    ObjectReader::set(options.glora_a_b, config.choice<GloraPath>("config_A_B", kGloraPaths));
    ObjectReader::set(options.glora_c, config.choice<GloraPath>("config_C", kGloraOfC));
    ObjectReader::set(options.glora_d_e, config.choice<GloraPath>("config_D_E", kGloraOfDE));
}

void put_glora(const AdapterOptions& options, JsonValue& out) {
    const auto put = [&out](std::string_view key, GloraPath path) {
        out.put(key, JsonValue::of(kGloraPaths[static_cast<std::size_t>(path)].name));
    };
    put("config_A_B", options.glora_a_b);
    put("config_C", options.glora_c);
    put("config_D_E", options.glora_d_e);
}

/// DeftConfig.decomposition_method.
void read_deft_method(ObjectReader& config) {
    enum class Method : std::uint8_t { relu, qr };
    static constexpr Named<Method> kMethods[] = {{"relu", Method::relu}, {"qr", Method::qr}};
    if (config.choice<Method>("decomposition_method", kMethods) == Method::qr)
        config.problems().unsupported(config.path("decomposition_method"),
                                      "DEFT by 'qr' is not supported: the scratch that cuSOLVER takes for it shows on "
                                      "a GPU only",
                                      "relu");
}

/// PeanutConfig.act_fn: a name of transformers' ACT2FN.
void read_peanut_function(ObjectReader& config, AdapterOptions& options) {
    static constexpr std::string_view kFunctions[] = {"relu", "silu", "gelu"};
    const auto word = config.text("act_fn");
    if (!word) return;
    if (std::find(std::begin(kFunctions), std::end(kFunctions), *word) == std::end(kFunctions))
        config.problems().unsupported(config.path("act_fn"), fmt::format("PEANuT with '{}' is not supported", *word),
                                      "supported: relu, silu, gelu");
    options.act_fn = *word;
}

/// SupertuningConfig.__post_init__: without `r` there is no LoRA beside the chosen entries.
void read_supertuning(ObjectReader& config, AdapterOptions& options) {
    ObjectReader::set(options.sparsity, config.real("sparsity"));
    ObjectReader::set(options.supra_r, config.integer("r", kAtLeastOne, Null::absent));
    const auto alpha = config.real("lora_alpha", {}, Null::absent);
    if (options.sparsity >= 1)
        config.problems().invalid(config.path("sparsity"), fmt::format("{} is not below 1 (peft)", options.sparsity),
                                  "the share of entries that are not trained: 0.99");
    if (alpha && options.supra_r == 0)
        config.problems().invalid(config.path("lora_alpha"),
                                  "lora_alpha is set but r is None: Supra mode requires an explicit r (peft)",
                                  "give r too, or leave it out");
}

void put_supertuning(const AdapterOptions& options, JsonValue& out) {
    out.put("sparsity", JsonValue::of(options.sparsity));
    if (options.supra_r != 0) out.put("r", JsonValue::of(options.supra_r));
}

/// OSFModel._create_and_replace, _resolve_rank: what has a point and is at most 1 is a share.
std::optional<RankOrShare> rank_or_share(ObjectReader& config, std::string_view key) {
    const JsonValue* const value = config.value(key);
    if (!value || value->kind == JsonValue::Kind::null) return std::nullopt;
    const auto number = config.real(key, {.low = 0});
    if (!number) return std::nullopt;
    return RankOrShare{*number, value->kind == JsonValue::Kind::real && *number <= 1};
}

void read_osf(ObjectReader& config, AdapterOptions& options) {
    ObjectReader::set(options.effective_rank, rank_or_share(config, "effective_rank"));
    if (auto ranks = config.object("rank_pattern", Null::absent))
        for (const std::string& key : ranks->whole().keys)
            if (const auto rank = rank_or_share(*ranks, key)) options.effective_ranks.emplace_back(key, *rank);
}

JsonValue to_json(const RankOrShare& rank) {
    return rank.is_share ? JsonValue::of(rank.value) : JsonValue::of(static_cast<std::int64_t>(rank.value));
}

void put_osf(const AdapterOptions& options, JsonValue& out) {
    out.put("effective_rank", to_json(options.effective_rank));
    if (options.effective_ranks.empty()) return;
    JsonValue ranks = JsonValue::object();
    for (const auto& [pattern, rank] : options.effective_ranks) ranks.put(pattern, to_json(rank));
    out.put("rank_pattern", std::move(ranks));
}

}  // namespace

std::int64_t osf_rank(const AdapterOptions& options, const NamedModule& module) {
    RankOrShare rank = options.effective_rank;
    for (const auto& [pattern, other] : options.effective_ranks)
        if (std::regex_search(module.name, regular_expression(pattern, "peft.rank_pattern"))) {
            rank = other;
            break;
        }
    const std::int64_t smaller = std::min(module.in, module.out);
    const double wanted = rank.is_share ? static_cast<double>(smaller) * rank.value : rank.value;
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(wanted), 0, smaller);
}

// tuners/supertuning/layer.py SupertuningLayer._num_trainable.
std::int64_t supertuned_entries(const AdapterOptions& options, const NamedModule& module) {
    return static_cast<std::int64_t>(static_cast<double>(module.in * module.out) * (1 - options.sparsity));
}

void read_own_keys(ObjectReader& config, LoraPlan& plan) {
    AdapterOptions& options = plan.options;
    for (const OwnKey& key : kOwnKeys)
        if (key.kind == plan.kind) read_key(config, key, options);
    switch (plan.kind) {
        case AdapterKind::ia3: options.feedforward_modules = read_targets(config, "feedforward_modules"); break;
        case AdapterKind::oft: check_oft(config, options); break;
        case AdapterKind::miss: read_miss_weights(config); break;
        case AdapterKind::trainable_tokens: read_token_indices(config, "token_indices", plan); break;
        case AdapterKind::road:
            ObjectReader::set(options.road_variant, config.choice<std::int64_t>("variant", kRoadVariants));
            break;
        case AdapterKind::glora: read_glora(config, options); break;
        case AdapterKind::deft: read_deft_method(config); break;
        case AdapterKind::supertuning: read_supertuning(config, options); break;
        case AdapterKind::peanut: read_peanut_function(config, options); break;
        case AdapterKind::osf: read_osf(config, options); break;
        default: break;
    }
}

void put_own_keys(const LoraPlan& plan, JsonValue& out) {
    const AdapterOptions& options = plan.options;
    for (const OwnKey& key : kOwnKeys)
        if (key.kind == plan.kind) put_key(key, options, out);
    switch (plan.kind) {
        case AdapterKind::ia3:
            if (options.feedforward_modules)
                out.put("feedforward_modules", targets_to_json(*options.feedforward_modules));
            break;
        case AdapterKind::trainable_tokens: out.put("token_indices", JsonValue::integers(options.token_indices)); break;
        case AdapterKind::road:
            out.put("variant", JsonValue::of(std::string_view(fmt::format("road_{}", options.road_variant))));
            break;
        case AdapterKind::glora: put_glora(options, out); break;
        case AdapterKind::supertuning: put_supertuning(options, out); break;
        case AdapterKind::osf: put_osf(options, out); break;
        case AdapterKind::peanut: out.put("act_fn", JsonValue::of(std::string_view(options.act_fn))); break;
        default: break;
    }
}

}  // namespace vramfit
