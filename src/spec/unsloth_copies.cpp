// unsloth 2026.10.7: models/loader_utils.py get_model_name, models/mapper.py.
#include "spec/unsloth_copies.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/split.hpp"
#include "vramfit/spec/suggest.hpp"

namespace vramfit {

namespace {

constexpr std::string_view kPackedEnding = "-bnb-4bit";

/// Names, behind that of whoever published them, of which such a copy is taken; of the families whose step is
/// predicted.
constexpr std::string_view kDynamicCopies[] = {"meta-llama-3.1-8b",
                                               "meta-llama-3.1-8b-instruct",
                                               "llama-3.1-8b",
                                               "llama-3.1-8b-instruct",
                                               "llama-3.2-1b",
                                               "llama-3.2-1b-instruct",
                                               "llama-3.2-3b",
                                               "llama-3.2-3b-instruct",
                                               "llama-3.3-70b-instruct",
                                               "qwen2.5-0.5b",
                                               "qwen2.5-0.5b-instruct",
                                               "qwen2.5-1.5b",
                                               "qwen2.5-1.5b-instruct",
                                               "qwen2.5-3b",
                                               "qwen2.5-3b-instruct",
                                               "qwen2.5-7b",
                                               "qwen2.5-7b-instruct",
                                               "qwen2.5-14b",
                                               "qwen2.5-14b-instruct",
                                               "deepscaler-1.5b-preview",
                                               "deepseek-r1-0528-qwen3-8b",
                                               "deepseek-r1-distill-qwen-1.5b",
                                               "deepseek-r1-distill-qwen-7b",
                                               "deepseek-r1-distill-qwen-14b",
                                               "deepseek-r1-distill-llama-8b",
                                               "qwen3-0.6b",
                                               "qwen3-0.6b-base",
                                               "qwen3-1.7b",
                                               "qwen3-1.7b-base",
                                               "qwen3-4b",
                                               "qwen3-4b-base",
                                               "qwen3-4b-instruct-2507",
                                               "qwen3-4b-thinking-2507",
                                               "qwen3-8b",
                                               "qwen3-8b-base",
                                               "qwen3-14b",
                                               "qwen3-14b-base",
                                               "qwq-32b",
                                               "reka-flash-3",
                                               "mistral-small-24b-base-2501",
                                               "mistral-small-24b-instruct-2501",
                                               "devstral-small-2505",
                                               "devstral-small-2507",
                                               "magistral-small-2506",
                                               "magistral-small-2507",
                                               "magistral-small-2509",
                                               "phi-4",
                                               "phi-4-reasoning",
                                               "phi-4-reasoning-plus"};

struct KnownLayers {
    std::string_view name;
    std::string_view modules;  ///< divided by blanks; beside lm_head, which stays in 16 bits in every copy
    std::string_view source;
};

/// What runs have printed of the copies' config.json, or of the network that was loaded.
constexpr KnownLayers kKnown[] = {
    {"meta-llama-3.1-8b-instruct", "model.layers.1.mlp",
     "github.com/unslothai/notebooks, nb/Llama3.1_(8B)-GRPO.ipynb: vLLM Bitsandbytes config"},
    {"deepseek-r1-distill-llama-8b", "model.layers.1.mlp", "github.com/vllm-project/vllm/pull/12974: its config.json"},
    {"qwen2.5-3b-instruct", "model.layers.2.mlp model.layers.3.mlp model.layers.30.mlp",
     "github.com/unslothai/notebooks, nb/Qwen2.5_(3B)-GRPO.ipynb: vLLM Bitsandbytes config"},
    {"qwen2.5-0.5b-instruct",
     "model.layers.0.self_attn model.layers.0.mlp model.layers.2.mlp model.layers.3.mlp model.layers.21.mlp",
     "logs of four runs of ART with unsloth 2025.8.4 (vLLM Bitsandbytes config), all alike"},
    {"qwen3-4b-instruct-2507",
     "model.layers.0.self_attn model.layers.1.mlp model.layers.2.mlp model.layers.3.self_attn model.layers.3.mlp "
     "model.layers.5.mlp model.layers.6.self_attn model.layers.6.mlp model.layers.34.mlp model.layers.35.mlp",
     "the network as a notebook of unsloth 2026.8.19 prints it, layer by layer"},
};

std::vector<std::string> modules_in(std::string_view text) {
    std::vector<std::string> out;
    for (const std::string_view word : split(text, ' ')) out.emplace_back(word);
    return out;
}

}  // namespace

// docs.unsloth.ai, "What model should I use": names that end in unsloth-bnb-4bit are dynamic 4-bit quants, those that
// end in bnb-4bit alone are bitsandbytes' own.
std::string unpacked_name(std::string_view name) {
    const std::string lower = lower_case(name);
    if (lower.starts_with("unsloth/") && lower.ends_with(kPackedEnding))
        name.remove_suffix((lower.ends_with(kDynamicEnding) ? kDynamicEnding : kPackedEnding).size());
    return std::string(name);
}

std::optional<DynamicCopy> dynamic_copy_of(std::string_view name) {
    std::string_view published = name.substr(name.rfind('/') + 1);
    const bool named = published.ends_with(kDynamicEnding);
    if (!named && published.ends_with(kPackedEnding)) return std::nullopt;  // a name that says which copy is kept
    if (named) published.remove_suffix(kDynamicEnding.size());
    const bool mapped =
        std::find(std::begin(kDynamicCopies), std::end(kDynamicCopies), published) != std::end(kDynamicCopies);
    if (!named && !mapped) return std::nullopt;
    DynamicCopy out{fmt::format("unsloth/{}{}", published, kDynamicEnding), std::nullopt};
    for (const KnownLayers& known : kKnown)
        if (known.name == published) out.skip_modules = modules_in(known.modules);
    return out;
}

}  // namespace vramfit
