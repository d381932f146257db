// TRL: Python scripts and notebooks that call RLOOTrainer.
#include "trainers/common.hpp"
#include "trainers/grpo.hpp"
#include "trainers/keys/trl_grpo.hpp"
#include "trainers/scripts.hpp"
#include "trainers/trainer_format.hpp"

namespace vramfit::trainers {

namespace {

constexpr KeyRow kRlooScriptKeys[] = {
    {"RLOOTrainer", KeyUse::harmless},
    {"peft_config.task_type", KeyUse::unsupported, "another task needs another head", "CAUSAL_LM"},
    {"adapted", KeyUse::used, "trl.peft_config"},
    {"trainer.reward_funcs", KeyUse::used, "reward"},
    {"trainer.reward_processing_classes", KeyUse::harmless},
};
constexpr auto kScriptRlooGroupHarmless = harmless_rows(kGroupHarmless);
const std::span<const KeyRow> kRlooScriptTables[] = {
    kRlooScriptKeys,          kGroupKeys,        kRlooKeys, kScriptKeys, kScriptHarmless, kTrainingArguments,
    kScriptRlooGroupHarmless, kHarmlessArguments};

bool is_rloo_script(const Document& document) { return calls_group_trainer(document, kRlooTrainer); }

void read_rloo_script(Reader& reader, Draft& draft) { read_group_script(reader, kRlooTrainer, draft); }

}  // namespace

}  // namespace vramfit::trainers

namespace vramfit::trainer_formats {

extern const TrainerFormat trl_rloo_script_entry;
const TrainerFormat trl_rloo_script_entry = {
    .name = "trl-rloo-script",
    .title = "TRL 1.16",
    .summary = "Python scripts and notebooks with RLOOTrainer",
    .order = 3,
    .recognises = trainers::is_rloo_script,
    .keys = trainers::kRlooScriptTables,
    .model = [](trainers::Reader& reader) { return reader.text("model").value_or(""); },
    .read = trainers::read_rloo_script,
    .knobs = trainers::kTrlScriptKnobs,
};

}  // namespace vramfit::trainer_formats
