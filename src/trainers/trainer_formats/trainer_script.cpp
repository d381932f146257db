// transformers: Python scripts and notebooks that call Trainer.
#include "trainers/common.hpp"
#include "trainers/fsdp.hpp"
#include "trainers/scripts.hpp"
#include "trainers/trainer_format.hpp"
#include "trainers/zero.hpp"

namespace vramfit::trainers {

namespace {

const std::span<const KeyRow> kTrainerTables[] = {kScriptKeys, kScriptHarmless, kFsdpArguments, kTrainingArguments,
                                                  kHarmlessArguments};

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
    read_script_network(reader, false, draft);
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
