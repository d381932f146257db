// liger-kernel 0.8.5 transformers/monkey_patch.py.
#include "spec/liger.hpp"

#include <algorithm>
#include <iterator>

namespace vramfit {

bool has_liger(std::string_view model_type) {
    constexpr std::string_view kKnown[] = {"deepseek_v2",
                                           "deepseek_v3",
                                           "deepseek_v4",
                                           "exaone4",
                                           "falcon_h1",
                                           "gemma",
                                           "gemma2",
                                           "gemma3",
                                           "gemma3_text",
                                           "gemma4",
                                           "gemma4_text",
                                           "glm4",
                                           "glm4v",
                                           "glm4v_moe",
                                           "gpt_oss",
                                           "granite",
                                           "hunyuan_v1_dense",
                                           "hunyuan_v1_moe",
                                           "internvl",
                                           "llama",
                                           "llama4",
                                           "llama4_text",
                                           "llava",
                                           "ministral",
                                           "mistral",
                                           "mixtral",
                                           "mllama",
                                           "mllama_text_model",
                                           "muse_glimmer",
                                           "nemotron",
                                           "olmo2",
                                           "olmo3",
                                           "paligemma",
                                           "phi3",
                                           "pixtral",
                                           "qwen2",
                                           "qwen2_5_vl",
                                           "qwen2_5_vl_text",
                                           "qwen2_vl",
                                           "qwen2_vl_text",
                                           "qwen3",
                                           "qwen3_5",
                                           "qwen3_5_moe",
                                           "qwen3_5_moe_text",
                                           "qwen3_5_text",
                                           "qwen3_moe",
                                           "qwen3_next",
                                           "qwen3_vl",
                                           "qwen3_vl_moe",
                                           "qwen3_vl_moe_text",
                                           "qwen3_vl_text",
                                           "smollm3",
                                           "smolvlm"};
    return std::find(std::begin(kKnown), std::end(kKnown), model_type) != std::end(kKnown);
}

std::optional<LigerPatches> liger_patches(std::string_view model_type) {
    constexpr LigerPatches kPatches[] = {
        {"llama"},
        {"mistral"},
        {"phi3"},
        {"qwen2"},
        {"smollm3"},
        {"qwen3", true, true, true, true, false},
        {"gemma"},
        {"gemma2", true, false, false, false},
        {"gemma3_text", true, true, false, false},
        {"glm4", false, false, false, false},
        {"olmo2", true, false, false, true},
    };
    const auto* const found = std::find_if(std::begin(kPatches), std::end(kPatches),
                                           [&](const LigerPatches& each) { return each.model_type == model_type; });
    return found == std::end(kPatches) ? std::nullopt : std::optional(*found);
}

}  // namespace vramfit
