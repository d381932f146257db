// TRL: Python scripts and notebooks that call GRPOTrainer.
#include "trainers/common.hpp"
#include "trainers/grpo.hpp"
#include "trainers/keys/trl_grpo.hpp"
#include "trainers/scripts.hpp"
#include "trainers/trainer_format.hpp"

namespace vramfit::trainers {

namespace {

constexpr KeyRow kGrpoScriptKeys[] = {
    {"GRPOTrainer", KeyUse::harmless},
    {"trainer.tools", KeyUse::unsupported, "completions with results of tools are not predicted"},
    {"trainer.rollout_func", KeyUse::unsupported, "generation by the script is not predicted"},
    {"trainer.environment_factory", KeyUse::unsupported,
     "completions with results of an environment are not predicted"},
};
const std::span<const KeyRow> kGrpoScriptTables[] = {
    kGrpoScriptKeys,    kGroupScriptKeys,   kGroupKeys,        kGrpoKeys,         kScriptKeys,       kScriptHarmless,
    kTrainingArguments, kGroupHarmlessRows, kVllmHarmlessRows, kGrpoHarmlessRows, kHarmlessArguments};

bool is_grpo_script(const Document& document) { return calls_trainer(document, kGrpoTrainer.name); }

void read_grpo_script(Reader& reader, Draft& draft) { read_group_script(reader, kGrpoTrainer, draft); }

}  // namespace

}  // namespace vramfit::trainers

namespace vramfit::trainer_formats {

extern const TrainerFormat trl_grpo_script_entry;
const TrainerFormat trl_grpo_script_entry = {
    .name = "trl-grpo-script",
    .title = "TRL 1.16",
    .summary = "Python scripts and notebooks with GRPOTrainer",
    .order = 3,
    .recognises = trainers::is_grpo_script,
    .keys = trainers::kGrpoScriptTables,
    .model = [](trainers::Reader& reader) { return reader.text("model").value_or(""); },
    .read = trainers::read_grpo_script,
    .knobs = trainers::kTrlScriptKnobs,
};

}  // namespace vramfit::trainer_formats
