// Models of text and images by the type of their text part: the classes that load the whole and the part.
#pragma once

#include <string_view>

namespace vramfit {

struct TextPartClasses {
    std::string_view part;   ///< model type of the text part
    std::string_view whole;  ///< class
    std::string_view text;   ///< class of the text part alone
    bool auto_takes_text;    ///< what AutoModelForCausalLM loads of a checkpoint of the whole is the part
};

/// Types of a whole that hand their own use_cache to the text part, which has one of its own: transformers 5.17.0
/// modeling_gemma4.py Gemma4Model.forward, modeling_gemma4_unified.py Gemma4UnifiedModel.forward, modeling_mistral3.py
/// Mistral3Model.forward (merge_with_config_defaults); Gemma3Model.forward, Gemma3nModel.forward and
/// Qwen3_5Model.forward say nothing of it.
constexpr bool hands_cache_on(std::string_view whole_type) {
    return whole_type == "gemma4" || whole_type == "gemma4_unified" || whole_type.starts_with("mistral3");
}

// transformers 5.17.0 models/auto/modeling_auto.py MODEL_FOR_CAUSAL_LM_MAPPING_NAMES: ("gemma3",
// "Gemma3ForConditionalGeneration"), and so from 4.50 on, where the family came; ("gemma3n",
// "Gemma3nForConditionalGeneration"); ("gemma4",
// "Gemma4ForConditionalGeneration"); ("gemma4_unified", "Gemma4UnifiedForConditionalGeneration"); ("qwen3_5",
// "Qwen3_5ForCausalLM"),
// ("qwen3_5_moe", "Qwen3_5MoeForCausalLM"), ("llama4", "Llama4ForCausalLM"), ("emu3", "Emu3ForCausalLM"),
// ("mllama", "MllamaForCausalLM").
inline constexpr TextPartClasses kTextPartClasses[] = {
    {"gemma3_text", "Gemma3ForConditionalGeneration", "Gemma3ForCausalLM", false},
    {"gemma4_text", "Gemma4ForConditionalGeneration", "Gemma4ForCausalLM", false},
    {"gemma3n_text", "Gemma3nForConditionalGeneration", "Gemma3nForCausalLM", false},
    {"gemma4_unified_text", "Gemma4UnifiedForConditionalGeneration", "Gemma4UnifiedForCausalLM", false},
    {"qwen3_5_text", "Qwen3_5ForConditionalGeneration", "Qwen3_5ForCausalLM", true},
    {"qwen3_5_moe_text", "Qwen3_5MoeForConditionalGeneration", "Qwen3_5MoeForCausalLM", true},
    {"llama4_text", "Llama4ForConditionalGeneration", "Llama4ForCausalLM", true},
    {"emu3_text_model", "Emu3ForConditionalGeneration", "Emu3ForCausalLM", true},
    {"mllama_text_model", "MllamaForConditionalGeneration", "MllamaForCausalLM", true}};

/// Of a model whose spec says is_text_part.
constexpr const TextPartClasses& classes_of_text_part(std::string_view model_type) {
    for (const TextPartClasses& row : kTextPartClasses)
        if (row.part == model_type) return row;
    return kTextPartClasses[0];
}

}  // namespace vramfit
