// Prompts inside of attention, the Llama-adapter (peft 0.21.2, tuners/adaption_prompt/config.py and model.py).
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "spec/adapters/read.hpp"

namespace vramfit {

namespace {

/// TRANSFORMERS_MODEL_CONFIG: which module of a layer is wrapped.
struct Wrapped {
    std::string_view model_type, module;
};
constexpr std::array<Wrapped, 3> kWrapped = {{{"llama", "self_attn"}, {"mistral", "self_attn"}, {"gpt2", "attn"}}};

/// layer.py AdaptedAttention.forward takes the heads of keys by the sizes of k_proj, and the width as that of a head's
/// queries.
bool heads_fit(const ModelSpec& model) {
    if (model.model_type == "gpt2") return true;
    const std::int64_t keys = model.num_key_value_heads * model.head_dim, factor = model.hidden_size / keys;
    return factor > 0 && model.num_attention_heads / factor * model.head_dim == keys;
}

}  // namespace

void read_adaption_prompt(ObjectReader& config, LoraPlan& plan) {
    plan.target_modules = std::vector<std::string>{};
    if (auto target = config.text("target_modules", Null::absent)) plan.target_modules = *target;
    ObjectReader::set(plan.options.adapter_len, config.integer("adapter_len", kAtLeastOne));
    ObjectReader::set(plan.options.adapter_layers, config.integer("adapter_layers", kAtLeastOne));
    skip_saved_keys(config);
}

JsonValue adaption_prompt_to_json(const LoraPlan& plan) {
    JsonValue out = JsonValue::object();
    out.put("peft_type", JsonValue::of(facts_of(plan.kind).peft_type));
    if (const auto* const target = std::get_if<std::string>(&plan.target_modules))
        out.put("target_modules", JsonValue::of(std::string_view(*target)));
    if (plan.options.adapter_len > 0) out.put("adapter_len", JsonValue::of(plan.options.adapter_len));
    if (plan.options.adapter_layers > 0) out.put("adapter_layers", JsonValue::of(plan.options.adapter_layers));
    return out;
}

void check_adaption_prompt(const ModelSpec& model, const LoraPlan& plan, Problems& problems) {
    const AdapterOptions& options = plan.options;
    const auto* const wrapped = std::find_if(
        kWrapped.begin(), kWrapped.end(), [&](const Wrapped& known) { return known.model_type == model.model_type; });
    if (wrapped == kWrapped.end())
        return problems.invalid(
            "peft.peft_type",
            fmt::format("peft stops: Unsupported model type for adaption prompt: '{}'", model.model_type),
            "a network of the type llama, mistral or gpt2, or another kind of adapters");
    if (const auto* const target = std::get_if<std::string>(&plan.target_modules); target && *target != wrapped->module)
        problems.unsupported("peft.target_modules", fmt::format("adaption prompts in '{}' are not supported", *target),
                             fmt::format("{}, or leave it out", wrapped->module));
    for (const auto& [key, value] :
         {std::pair{"adapter_len", options.adapter_len}, {"adapter_layers", options.adapter_layers}})
        if (value < 1)
            problems.invalid(fmt::format("peft.{}", key), "adaption prompts need it (peft has no default)",
                             fmt::format("{}: 10, for example", key));
    if (options.adapter_layers > model.num_hidden_layers)
        problems.invalid("peft.adapter_layers",
                         fmt::format("{} is more than the model's {} layers (peft)", options.adapter_layers,
                                     model.num_hidden_layers),
                         fmt::format("at most {}", model.num_hidden_layers));
    if (!heads_fit(model))
        problems.invalid("peft.peft_type",
                         "peft stops: it takes the width of the network for that of all heads together",
                         "a network in which they are the same, or another kind of adapters");
}

}  // namespace vramfit
