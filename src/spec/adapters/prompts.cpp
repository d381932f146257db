// Job files: peft's prompt learning, virtual tokens in front of each row (peft 0.21.2, tuners/prompt_tuning/config.py,
// tuners/p_tuning/config.py, tuners/prefix_tuning/config.py, tuners/cartridge/config.py).
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "spec/adapters/read.hpp"

namespace vramfit {

namespace {

/// What peft fills in from the model's configuration.
constexpr std::string_view kOfTheModel[] = {"token_dim", "num_transformer_submodules", "num_attention_heads",
                                            "num_layers"};

void read_prompt_tuning(ObjectReader& config, AdapterOptions& options) {
    static constexpr std::array<std::string_view, 3> kInits = {"RANDOM", "TEXT", "SAMPLE_VOCAB"};
    if (const auto init = config.text("prompt_tuning_init")) {
        if (std::find(kInits.begin(), kInits.end(), *init) == kInits.end())
            config.problems().invalid(config.path("prompt_tuning_init"), fmt::format("unknown word '{}'", *init),
                                      "known: RANDOM, TEXT, SAMPLE_VOCAB");
        options.prompt_init = *init;
    }
    for (const std::string_view key : {"prompt_tuning_init_text", "tokenizer_name_or_path", "tokenizer_kwargs"})
        config.skip(key);
}

void read_p_tuning(ObjectReader& config, AdapterOptions& options) {
    const auto type = config.text("encoder_reparameterization_type");
    if (type && *type == "LSTM")
        config.problems().unsupported(config.path("encoder_reparameterization_type"),
                                      "P-tuning with an LSTM is not supported", "MLP");
    else if (type && *type != "MLP")
        config.problems().invalid(config.path("encoder_reparameterization_type"),
                                  fmt::format("unknown word '{}'", *type), "known: MLP, LSTM");
    options.encoder_hidden_size = config.integer("encoder_hidden_size", kAtLeastOne);
    for (const std::string_view key : {"encoder_num_layers", "encoder_dropout"}) config.skip(key);
}

void read_prefix_tuning(ObjectReader& config, AdapterOptions& options) {
    ObjectReader::set(options.prefix_projection, config.boolean("prefix_projection"));
    options.encoder_hidden_size = config.integer("encoder_hidden_size", kAtLeastOne, Null::absent);
    config.skip("init_weights");
}

}  // namespace

void read_prompt_kind(ObjectReader& config, LoraPlan& plan) {
    plan.target_modules = std::vector<std::string>{};
    ObjectReader::set(plan.options.virtual_tokens, config.integer("num_virtual_tokens", kAtLeastOne));
    switch (plan.kind) {
        case AdapterKind::p_tuning: read_p_tuning(config, plan.options); break;
        case AdapterKind::prefix_tuning: read_prefix_tuning(config, plan.options); break;
        case AdapterKind::cartridge:
            ObjectReader::set(plan.options.frozen_tokens, config.integer("num_frozen_tokens", {.low = 0}));
            break;
        default: read_prompt_tuning(config, plan.options); break;
    }
    for (const std::string_view key : kOfTheModel) config.skip(key);
    skip_saved_keys(config);
}

JsonValue prompt_kind_to_json(const LoraPlan& plan) {
    const AdapterOptions& options = plan.options;
    JsonValue out = JsonValue::object();
    out.put("peft_type", JsonValue::of(facts_of(plan.kind).peft_type));
    out.put("num_virtual_tokens", JsonValue::of(options.virtual_tokens));
    if (plan.kind == AdapterKind::prompt_tuning)
        out.put("prompt_tuning_init", JsonValue::of(std::string_view(options.prompt_init)));
    if (plan.kind == AdapterKind::prefix_tuning) out.put("prefix_projection", JsonValue::of(options.prefix_projection));
    if (plan.kind == AdapterKind::cartridge) out.put("num_frozen_tokens", JsonValue::of(options.frozen_tokens));
    if (options.encoder_hidden_size) out.put("encoder_hidden_size", JsonValue::of(*options.encoder_hidden_size));
    return out;
}

void check_prompt_kind(const LoraPlan& plan, Problems& problems) {
    const AdapterOptions& options = plan.options;
    const std::string_view title = facts_of(plan.kind).title;
    if (options.virtual_tokens < 1)
        problems.invalid("peft.num_virtual_tokens",
                         fmt::format("{} needs the number of its virtual tokens (peft has no default)", title),
                         "num_virtual_tokens: 20, for example");
    if (plan.kind == AdapterKind::cartridge && options.virtual_tokens > 0 &&
        options.frozen_tokens >= options.virtual_tokens)
        problems.invalid(
            "peft.num_frozen_tokens",
            fmt::format("{} of {} tokens leave none to be trained", options.frozen_tokens, options.virtual_tokens),
            "fewer than num_virtual_tokens");
    const bool encodes = plan.kind == AdapterKind::p_tuning || options.prefix_projection;
    if (encodes && !options.encoder_hidden_size)
        problems.invalid("peft.encoder_hidden_size",
                         fmt::format("{} needs the width of its encoder (peft has no default)", title),
                         "encoder_hidden_size: 128, for example");
}

}  // namespace vramfit
