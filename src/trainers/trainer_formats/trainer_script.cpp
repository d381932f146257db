// transformers: Python scripts and notebooks that call Trainer.
#include "trainers/common.hpp"
#include "trainers/fsdp.hpp"
#include "trainers/preferences.hpp"
#include "trainers/scripts.hpp"
#include "trainers/trainer_format.hpp"
#include "trainers/zero.hpp"

namespace vramfit::trainers {

namespace {

/// Ahead of what scripts share: of networks that classify sequences or tokens.
constexpr KeyRow kClassifierKeys[] = {
    {"from_pretrained.num_labels", KeyUse::used, "load.num_labels"},
    {"from_pretrained.id2label", KeyUse::harmless},
    {"from_pretrained.label2id", KeyUse::harmless},
    {"from_pretrained.problem_type", KeyUse::unsupported, "another loss is not predicted",
     "single_label_classification"},
    {"peft_config.task_type", KeyUse::used, "peft"},
};
const std::span<const KeyRow> kTrainerTables[] = {kClassifierKeys, kScriptKeys,        kScriptHarmless,
                                                  kFsdpArguments,  kTrainingArguments, kHarmlessArguments};

/// AutoModelForSequenceClassification or AutoModelForTokenClassification; without num_labels a checkpoint's
/// configuration has two.
void read_labels(Reader& reader, Draft& draft) {
    const std::string key = "from_pretrained.num_labels";
    const auto labels = reader.integer(key, {.low = 1});
    const std::string loader = reader.text("loader").value_or("");
    const bool tokens = loader.ends_with("ForTokenClassification");
    if (!tokens && !loader.ends_with("ForSequenceClassification")) {
        if (labels) reader.refuse(key, "another task needs another head", "take it out");
        return;
    }
    if (!labels && reader.has("from_pretrained.id2label"))
        return reader.refuse(key, "how many labels there are is not read from id2label", "num_labels=N beside it");
    draft.job.plan.load.labels_tokens = tokens;
    draft.job.plan.load.num_labels = labels.value_or(2);
}

void read_trainer_script(Reader& reader, Draft& draft) {
    draft.training_read = true;
    if (!judge_script(reader)) return;
    read_ddp(reader, draft);
    read_fsdp_arguments(reader, draft);
    allow_zero(draft);
    read_training_arguments(reader, {}, draft);
    if (!reader.has("loader"))
        return reader.refuse("Trainer",
                             "a network that the script does not load with from_pretrained is not predicted");
    read_labels(reader, draft);
    read_script_network(reader, false, draft);
    judge_task(reader, "peft_config.task_type", "network", draft);
    draft.pad_multiple =
        reader.integer("trainer.data_collator.pad_to_multiple_of", {.low = 1, .high = 1 << 20}).value_or(1);
}

}  // namespace

}  // namespace vramfit::trainers

namespace vramfit::trainer_formats {

extern const TrainerFormat trainer_script_entry;
const TrainerFormat trainer_script_entry = {
    .name = "trainer-script",
    .title = "transformers Trainer 5.17",
    .summary = "Python scripts and notebooks with transformers' Trainer",
    .order = 3,
    .recognises = trainers::is_plain_trainer,
    .keys = trainers::kTrainerTables,
    .model = [](trainers::Reader& reader) { return reader.text("model").value_or(""); },
    .read = trainers::read_trainer_script,
    .knobs = {.batch = "per_device_train_batch_size",
              .accumulation = "gradient_accumulation_steps",
              .rank = "peft_config.r",
              .checkpointing = "gradient_checkpointing=True",
              .liger = "use_liger_kernel=True",
              .optimizer = "optim=paged_adamw_8bit"},
};

}  // namespace vramfit::trainer_formats
