// TRL: Python scripts and notebooks that call GRPOTrainer.
#include <algorithm>

#include <fmt/format.h>

#include "trainers/common.hpp"
#include "trainers/grpo.hpp"
#include "trainers/keys/trl_grpo.hpp"
#include "trainers/scripts.hpp"
#include "trainers/trainer_format.hpp"

namespace vramfit::trainers {

namespace {

constexpr const char* kRewardFunctions = "trainer.reward_funcs";

constexpr KeyRow kGrpoScriptKeys[] = {
    {"GRPOTrainer", KeyUse::harmless},
    {"peft_config.task_type", KeyUse::unsupported, "another task needs another head", "CAUSAL_LM"},
    {"adapted", KeyUse::used, "trl.peft_config"},
    {"trainer.reward_funcs", KeyUse::used, "reward"},
    {"trainer.reward_processing_classes", KeyUse::harmless},
    {"trainer.tools", KeyUse::unsupported, "completions with results of tools are not predicted"},
    {"trainer.rollout_func", KeyUse::unsupported, "generation by the script is not predicted"},
    {"trainer.environment_factory", KeyUse::unsupported,
     "completions with results of an environment are not predicted"},
};
constexpr auto kScriptGrpoHarmless = harmless_rows(kGrpoHarmless);
const std::span<const KeyRow> kGrpoScriptTables[] = {kGrpoScriptKeys,   kGrpoKeys,          kScriptKeys,
                                                     kScriptHarmless,   kTrainingArguments, kScriptGrpoHarmless,
                                                     kHarmlessArguments};

bool is_grpo_script(const Document& document) {
    const std::vector<std::string>& keys = document.root.keys;
    return document.syntax == Syntax::python && !is_unsloth(document) &&
           std::find(keys.begin(), keys.end(), "GRPOTrainer") != keys.end();
}

/// A name is a model's (GRPOTrainer.__init__); what a function of the script gives is taken for functions.
void judge_rewards(Reader& reader) {
    const Value* given = reader.value(kRewardFunctions);
    if (!given) return;
    const std::vector<Value> one{*given};
    for (const Value& each : given->kind == Value::Kind::list ? given->items : one) {
        const bool loaded = each.kind == Value::Kind::unread && each.text.find("from_pretrained()") != each.text.npos;
        if (each.kind == Value::Kind::text || loaded)
            return reader.refuse(
                kRewardFunctions, "a reward model on the same GPU is not predicted",
                fmt::format("functions, or leave it out of the answer: --assume-off {}", kRewardFunctions));
    }
}

void read_grpo_script(Reader& reader, Draft& draft) {
    draft.training_read = true;
    if (!judge_script(reader)) return;
    const std::string config = reader.text("config_class").value_or("GRPOConfig");
    if (config.find("GRPOConfig") == config.npos)
        reader.invalid("config_class", fmt::format("GRPOTrainer takes no {}", config), "GRPOConfig");
    judge_rewards(reader);
    read_training_arguments(reader, kTrlDefaults, draft);
    draft.job.plan.loop.kind = LoopKind::grpo;
    read_script_network(reader, true, draft);
    draft.job.plan.trl_makes_adapters = !reader.has("adapted");
    read_groups(reader, draft);
}

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
