// TRL: Python scripts and notebooks that call its trainers of preferences.
#include <fmt/format.h>

#include "trainers/common.hpp"
#include "trainers/keys/trl_preferences.hpp"
#include "trainers/preferences.hpp"
#include "trainers/scripts.hpp"
#include "trainers/trainer_format.hpp"

namespace vramfit::trainers {

namespace {

constexpr KeyRow kPreferenceScriptKeys[] = {
    {"DPOTrainer", KeyUse::harmless},
    {"KTOTrainer", KeyUse::harmless},
    {"RewardTrainer", KeyUse::harmless},
    {"ORPOTrainer", KeyUse::harmless},
    {"CPOTrainer", KeyUse::harmless},
    {"BCOTrainer", KeyUse::harmless},
    {"peft_config.task_type", KeyUse::used, "peft"},
    {"from_pretrained.num_labels", KeyUse::used, "model"},
    {"adapted", KeyUse::used, "trl.peft_config"},
    {"trainer.ref_model", KeyUse::unsupported, "a reference that the script loads itself is not predicted"},
    {"trainer.embedding_func", KeyUse::unsupported, "rows weighed by a network of embeddings are not predicted"},
    {"trainer.embedding_tokenizer", KeyUse::unsupported, "rows weighed by a network of embeddings are not predicted"},
    {"trainer.data_collator", KeyUse::unsupported, "rows that another collator makes are not predicted"},
};
constexpr auto kScriptDpoHarmless = harmless_rows(kDpoHarmless);
constexpr auto kScriptDpoGone = harmless_rows(kGoneFromDpo);
const std::span<const KeyRow> kPreferenceScriptTables[] = {
    kPreferenceScriptKeys, kOtherPreferenceKeys, kDpoKeys,           kScriptKeys,   kScriptHarmless,
    kTrainingArguments,    kHarmlessArguments,   kScriptDpoHarmless, kScriptDpoGone};

const PreferenceTrainer* trainer_of_script(const Document& document) {
    for (const std::string& key : document.root.keys)
        if (key.ends_with("Trainer"))
            if (const PreferenceTrainer* found = preference_trainer(key)) return found;
    return nullptr;
}

bool is_preferences_script(const Document& document) {
    return document.syntax == Syntax::python && !is_unsloth(document) && trainer_of_script(document);
}

/// Arguments of DPOTrainer that moved to DPOConfig in trl 0.9 and left the trainer in 0.13; 0.16 took the tokenizer.
constexpr std::string_view kMovedArguments[] = {"beta",
                                                "label_smoothing",
                                                "loss_type",
                                                "max_length",
                                                "max_prompt_length",
                                                "max_target_length",
                                                "truncation_mode",
                                                "precompute_ref_log_probs",
                                                "model_init_kwargs",
                                                "ref_model_init_kwargs",
                                                "disable_dropout",
                                                "dataset_num_proc",
                                                "model_adapter_name",
                                                "ref_adapter_name",
                                                "reference_free",
                                                "generate_during_eval"};

void judge_moved_arguments(Reader& reader, const PreferenceTrainer& trainer) {
    for (const std::string_view key : kMovedArguments) {
        const std::string full = fmt::format("trainer.{}", key);
        if (reader.has(full))
            reader.invalid(full,
                           fmt::format("{} of trl {} has no such argument", trainer.name, text_of(reader.stack().trl)),
                           fmt::format("{} of {}", key, trainer.config));
    }
    if (reader.has("trainer.tokenizer"))
        reader.invalid("trainer.tokenizer", "trl from 0.16.0 on has no such argument", "processing_class");
}

/// RewardTrainer.__init__ of a model that is loaded already.
void judge_labels(Reader& reader, const PreferenceTrainer& trainer) {
    const std::string key = "from_pretrained.num_labels";
    const auto labels = reader.integer(key, {.low = 1});
    if (trainer.loop != LoopKind::reward) {
        if (labels) reader.refuse(key, "another task needs another head", "take it out");
    } else if (reader.text("loader").value_or("").ends_with("ForSequenceClassification") && labels.value_or(2) != 1) {
        reader.invalid(key,
                       fmt::format("trl stops: the model has `num_labels={}`, but reward models require "
                                   "`num_labels=1`",
                                   labels.value_or(2)),
                       "num_labels=1");
    }
}

void read_preferences_script(Reader& reader, Draft& draft) {
    draft.training_read = true;
    if (!judge_script(reader)) return;
    const PreferenceTrainer* found = trainer_of_script(reader.document());
    const PreferenceTrainer& trainer = found ? *found : *preference_trainer("dpo");
    refuse_divided_of_trl(trainer, draft);
    const std::string config = reader.text("config_class").value_or(std::string(trainer.config));
    if (config.find(trainer.config) == config.npos)
        reader.invalid("config_class", fmt::format("{} takes no {}", trainer.name, config),
                       std::string(trainer.config));
    judge_moved_arguments(reader, trainer);
    read_training_arguments(reader, kTrlDefaults, draft);
    draft.job.plan.loop.kind = trainer.loop;
    read_script_network(reader, true, draft);
    judge_labels(reader, trainer);
    judge_task(reader, "peft_config.task_type", trainer.name, draft);
    draft.job.plan.trl_makes_adapters = !reader.has("adapted");
    read_preferences(reader, trainer, draft);
}

}  // namespace

}  // namespace vramfit::trainers

namespace vramfit::trainer_formats {

extern const TrainerFormat trl_preferences_script_entry;
const TrainerFormat trl_preferences_script_entry = {
    .name = "trl-preferences-script",
    .title = "TRL 1.16",
    .summary =
        "Python scripts and notebooks with DPOTrainer, KTOTrainer, RewardTrainer, ORPOTrainer, CPOTrainer or "
        "BCOTrainer",
    .order = 3,
    .recognises = trainers::is_preferences_script,
    .keys = trainers::kPreferenceScriptTables,
    .model = [](trainers::Reader& reader) { return reader.text("model").value_or(""); },
    .read = trainers::read_preferences_script,
    .knobs = trainers::kTrlScriptKnobs,
};

}  // namespace vramfit::trainer_formats
