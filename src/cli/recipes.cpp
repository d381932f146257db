// Recipes: documented bundles of flags, one row each.
#include "cli/recipes.hpp"

#include <algorithm>
#include <vector>

#include "cli/flags/values.hpp"

namespace vramfit::cli {

namespace {

constexpr RecipeFlag kPaper[] = {{"method", "qlora"}, {"optim", "paged_adamw_32bit"}};

constexpr RecipeFlag kQlora[] = {
    {"method", "qlora"}, {"rank", "16"}, {"targets", "attention"}, {"lora-dropout", "0.05"}};

constexpr RecipeFlag kQloraPaper[] = {{"method", "qlora"},
                                      {"rank", "64"},
                                      {"lora-alpha", "16"},
                                      {"lora-dropout", "0.1"},
                                      {"targets", "all-linear"},
                                      {"mixed-precision", "bf16"},
                                      {"optim", "paged_adamw_32bit"},
                                      {"batch", "4"},
                                      {"accumulate", "4"},
                                      {"seq", "528"},
                                      {"max-grad-norm", "0.3"}};

constexpr RecipeFlag kTrlSft[] = {{"method", "full"},      {"loop", "sft"},
                                  {"dtype", "auto"},       {"mixed-precision", "bf16"},
                                  {"checkpointing", "on"}, {"optim", "adamw_torch_fused"},
                                  {"batch", "8"},          {"seq", "1024"}};

constexpr RecipeFlag kAxolotl[] = {{"method", "qlora"},
                                   {"rank", "32"},
                                   {"lora-alpha", "16"},
                                   {"lora-dropout", "0.05"},
                                   {"targets", "all-linear"},
                                   {"mixed-precision", "bf16"},
                                   {"attention", "flash_attention_2"},
                                   {"optim", "paged_adamw_32bit"},
                                   {"batch", "2"},
                                   {"accumulate", "4"},
                                   {"seq", "4096"}};

constexpr RecipeFlag kLlamaFactory[] = {{"method", "lora"},
                                        {"rank", "8"},
                                        {"lora-alpha", "16"},
                                        {"targets", "all-linear"},
                                        {"mixed-precision", "bf16"},
                                        {"checkpointing", "on"},
                                        {"batch", "1"},
                                        {"accumulate", "8"},
                                        {"seq", "2048"}};

constexpr RecipeFlag kUnsloth[] = {
    {"method", "qlora"}, {"rank", "16"},          {"lora-alpha", "16"}, {"targets", "all-linear"},
    {"loop", "unsloth"}, {"optim", "adamw_8bit"}, {"batch", "2"},       {"accumulate", "4"},
    {"seq", "2048"}};

constexpr RecipeFlag kFull[] = {{"method", "full"},
                                {"mixed-precision", "bf16"},
                                {"checkpointing", "non-reentrant"},
                                {"attention", "flash_attention_2"},
                                {"optim", "paged_adamw_8bit"},
                                {"batch", "1"},
                                {"accumulate", "8"},
                                {"seq", "8192"}};

constexpr Recipe kRecipes[] = {
    {"paper", "QLoRA as in S. Salisbury's paper; a sweep looks at the paper's space alone",
     "S. Salisbury, Predicting Peak VRAM Usage in Local Fine-tuning of Large Language Models, 2024", kPaper, true},
    {"qlora", "QLoRA as in peft's guide to quantization", "peft 0.21.2, docs/source/developer_guides/quantization.md",
     kQlora},
    {"qlora-paper", "QLoRA as its authors ran it (Guanaco 7B)",
     "github.com/artidoro/qlora, qlora.py and scripts/finetune_guanaco_7b.sh", kQloraPaper},
    {"trl-sft", "full fine-tuning with the defaults of trl's SFTTrainer",
     "trl 1.16.0, trainer/base_config.py and trainer/sft_config.py; transformers 5.17.0, training_args.py", kTrlSft},
    {"axolotl", "QLoRA as in axolotl's example for Llama 3 8B", "axolotl, examples/llama-3/qlora.yml", kAxolotl},
    {"llama-factory", "LoRA as in LLaMA-Factory's example for Llama 3 8B",
     "LLaMA-Factory, examples/train_lora/llama3_lora_sft.yaml", kLlamaFactory},
    {"unsloth", "QLoRA as in Unsloth's notebooks, by its own step, else by plain transformers: an upper bound",
     "github.com/unslothai/notebooks, Llama3.1_(8B)-Alpaca.ipynb", kUnsloth, false, true},
    {"full", "full fine-tuning as in axolotl's example for Llama 3.1 8B", "axolotl, examples/llama-3/fft-8b.yaml",
     kFull},
};

}  // namespace

std::span<const Recipe> recipes() { return kRecipes; }

const Recipe& recipe_from(std::string_view name, const std::string& where) {
    std::vector<std::string_view> names;
    for (const Recipe& recipe : kRecipes) names.push_back(recipe.name);
    return kRecipes[choice_from(name, where, names)];
}

bool sets(const Recipe& recipe, std::string_view flag) { return !value_of(recipe, flag).empty(); }

std::string_view value_of(const Recipe& recipe, std::string_view flag) {
    for (const RecipeFlag& each : recipe.flags)
        if (each.name == flag) return each.value;
    return {};
}

}  // namespace vramfit::cli
