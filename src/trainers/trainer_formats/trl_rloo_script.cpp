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
};
const std::span<const KeyRow> kRlooScriptTables[] = {
    kRlooScriptKeys, kGroupScriptKeys,   kGroupKeys,         kRlooKeys,         kScriptKeys,
    kScriptHarmless, kTrainingArguments, kGroupHarmlessRows, kVllmHarmlessRows, kHarmlessArguments};

bool is_rloo_script(const Document& document) { return calls_trainer(document, kRlooTrainer.name); }

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
