// Which modules peft's adapters beside LoRA are put on where nobody says so (peft 0.21.2, utils/constants.py).
#include <algorithm>
#include <regex>
#include <span>

#include <fmt/format.h>

#include "spec/adapters/read.hpp"
#include "spec/regular_expression.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/config.hpp"

namespace vramfit {

namespace {

struct Row {
    std::string_view model_type;
    std::vector<std::string> names;
};

std::vector<std::string> names_in(std::span<const Row> rows, std::string_view model_type) {
    for (const Row& row : rows)
        if (row.model_type == model_type) return row.names;
    return {};
}

// TRANSFORMERS_MODELS_TO_IA3_TARGET_MODULES_MAPPING: causal language models.
std::span<const Row> ia3_rows() {
    static const Row kRows[] = {{"gpt2", {"c_attn", "mlp.c_proj"}},
                                {"bloom", {"query_key_value", "mlp.dense_4h_to_h"}},
                                {"opt", {"q_proj", "k_proj", "fc2"}},
                                {"gptj", {"q_proj", "v_proj", "fc_out"}},
                                {"gpt_neox", {"query_key_value", "dense_4h_to_h"}},
                                {"gpt_neo", {"q_proj", "v_proj", "c_proj"}},
                                {"gpt_bigcode", {"c_attn", "mlp.c_proj"}},
                                {"llama", {"k_proj", "v_proj", "down_proj"}},
                                {"llama4", {"q_proj", "v_proj", "down_proj"}},
                                {"mistral", {"k_proj", "v_proj", "down_proj"}},
                                {"mixtral", {"k_proj", "v_proj", "w2"}},
                                {"falcon", {"query_key_value", "dense_4h_to_h"}},
                                {"phi", {"q_proj", "v_proj", "fc2"}},
                                {"gemma", {"q_proj", "v_proj", "down_proj"}},
                                {"gemma2", {"q_proj", "v_proj", "down_proj"}},
                                {"gemma3_text", {"q_proj", "v_proj", "down_proj"}},
                                {"qwen2", {"q_proj", "v_proj", "down_proj"}},
                                {"qwen3", {"q_proj", "v_proj", "down_proj"}}};
    return kRows;
}

// TRANSFORMERS_MODELS_TO_IA3_FEEDFORWARD_MODULES_MAPPING.
std::span<const Row> feedforward_rows() {
    static const Row kRows[] = {{"gpt2", {"mlp.c_proj"}},
                                {"bloom", {"mlp.dense_4h_to_h"}},
                                {"opt", {"fc2"}},
                                {"gptj", {"fc_out"}},
                                {"gpt_neox", {"dense_4h_to_h"}},
                                {"gpt_neo", {"c_proj"}},
                                {"gpt_bigcode", {"mlp.c_proj"}},
                                {"llama", {"down_proj"}},
                                {"llama4", {"down_proj"}},
                                {"mistral", {"down_proj"}},
                                {"mixtral", {"w2"}},
                                {"falcon", {"dense_4h_to_h"}},
                                {"phi", {"fc2"}},
                                {"gemma", {"down_proj"}},
                                {"gemma2", {"down_proj"}},
                                {"gemma3_text", {"down_proj"}},
                                {"qwen2", {"down_proj"}},
                                {"qwen3", {"down_proj"}}};
    return kRows;
}

// TRANSFORMERS_MODELS_TO_LNTUNING_TARGET_MODULES_MAPPING.
std::span<const Row> norm_rows() {
    static const Row kRows[] = {{"llama", {"input_layernorm", "post_attention_layernorm", "norm"}},
                                {"bloom", {"input_layernorm", "post_attention_layernorm", "ln_f"}},
                                {"gpt2", {"ln_1", "ln_2", "ln_f"}},
                                {"gptj", {"ln_1", "ln_f"}},
                                {"falcon", {"input_layernorm", "post_attention_layernorm", "ln_f"}},
                                {"mistral", {"input_layernorm", "post_attention_layernorm", "norm"}},
                                {"phi", {"input_layernorm", "final_layernorm"}},
                                {"gemma", {"input_layernorm", "post_attention_layernorm", "norm"}},
                                {"gemma2",
                                 {"input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm",
                                  "post_feedforward_layernorm", "norm"}},
                                {"gemma3_text",
                                 {"input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm",
                                  "post_feedforward_layernorm", "norm"}},
                                {"qwen2", {"post_attention_layernorm"}},
                                {"qwen3", {"post_attention_layernorm"}}};
    return kRows;
}

// TRANSFORMERS_MODELS_TO_ADALORA_TARGET_MODULES_MAPPING.
std::span<const Row> adalora_rows() {
    static const Row kRows[] = {{"gpt2", {"c_attn"}},
                                {"bloom", {"query_key_value"}},
                                {"opt", {"q_proj", "k_proj", "v_proj", "out_proj", "fc1", "fc2"}},
                                {"gptj", {"q_proj", "v_proj"}},
                                {"gpt_neox", {"query_key_value"}},
                                {"gpt_neo", {"q_proj", "v_proj"}},
                                {"llama", {"q_proj", "v_proj"}},
                                {"llama4", {"q_proj", "v_proj"}},
                                {"gpt_bigcode", {"c_attn"}},
                                {"gemma", {"q_proj", "v_proj"}},
                                {"gemma2", {"q_proj", "v_proj"}},
                                {"gemma3_text", {"q_proj", "v_proj"}},
                                {"qwen2", {"q_proj", "v_proj"}},
                                {"qwen3", {"q_proj", "v_proj"}}};
    return kRows;
}

// TRANSFORMERS_MODELS_TO_OSF_TARGET_MODULES_MAPPING.
std::span<const Row> osf_rows() {
    static const std::vector<std::string> kAll{"q_proj",    "k_proj",    "v_proj", "o_proj",
                                               "gate_proj", "down_proj", "up_proj"};
    static const Row kRows[] = {{"llama", kAll},
                                {"llama4", kAll},
                                {"mistral", kAll},
                                {"mixtral", kAll},
                                {"gemma", kAll},
                                {"gemma2", kAll},
                                {"gemma3_text", kAll},
                                {"qwen2", kAll},
                                {"qwen3", kAll},
                                {"phi", kAll},
                                {"gpt2", {"c_attn", "c_proj"}},
                                {"bloom", {"query_key_value", "dense_4h_to_h"}},
                                {"opt", {"q_proj", "k_proj", "v_proj", "out_proj", "fc1", "fc2"}},
                                {"gptj", {"q_proj", "k_proj", "v_proj", "out_proj", "fc_in", "fc_out"}},
                                {"gpt_neox", {"query_key_value", "dense_4h_to_h"}},
                                {"falcon", {"query_key_value", "dense_4h_to_h"}},
                                {"gpt_bigcode", {"c_attn", "c_proj"}}};
    return kRows;
}

// TRANSFORMERS_MODELS_TO_BEFT_TARGET_MODULES_MAPPING.
std::span<const Row> beft_rows() {
    static const Row kRows[] = {{"opt", {"v_proj"}},     {"gptj", {"v_proj"}},        {"gpt_neo", {"v_proj"}},
                                {"llama", {"v_proj"}},   {"llama4", {"v_proj"}},      {"mistral", {"v_proj"}},
                                {"mixtral", {"v_proj"}}, {"phi", {"v_proj"}},         {"gemma", {"v_proj"}},
                                {"gemma2", {"v_proj"}},  {"gemma3_text", {"v_proj"}}, {"qwen2", {"v_proj"}},
                                {"qwen3", {"v_proj"}}};
    return kRows;
}

}  // namespace

std::vector<std::string> default_targets(const ModelSpec& model, AdapterKind kind) {
    switch (kind) {
        case AdapterKind::ia3: return names_in(ia3_rows(), model.model_type);
        case AdapterKind::ln_tuning: return names_in(norm_rows(), model.model_type);
        case AdapterKind::vblora:  // TRANSFORMERS_MODELS_TO_VBLORA_TARGET_MODULES_MAPPING: the same
        case AdapterKind::adalora: return names_in(adalora_rows(), model.model_type);
        case AdapterKind::osf: return names_in(osf_rows(), model.model_type);
        case AdapterKind::beft: return names_in(beft_rows(), model.model_type);
        case AdapterKind::trainable_tokens:            // the token embedding
        case AdapterKind::adaption_prompt: return {};  // attention
        default: return default_targets(model);
    }
}

// tuners/ia3/model.py IA3Model._prepare_adapter_config and _check_target_module_feedforward.
bool is_feedforward(const ModelSpec& model, const LoraPlan& plan, const std::string& module) {
    std::vector<std::string> names;
    if (const auto& given = plan.options.feedforward_modules) {
        if (const auto* pattern = std::get_if<std::string>(&*given))
            return std::regex_match(module, regular_expression(*pattern, "peft.feedforward_modules"));
        names = std::get<std::vector<std::string>>(*given);
    } else {
        names = names_in(feedforward_rows(), model.model_type);
        if (names.empty())
            throw Error(ErrorKind::invalid, "peft.feedforward_modules",
                        fmt::format("peft knows none for {} (Please specify `feedforward_modules`)", model.model_type),
                        "name those of the target modules whose input is scaled, or give an empty list");
    }
    return std::any_of(names.begin(), names.end(), [&](const std::string& name) { return module.ends_with(name); });
}

}  // namespace vramfit
