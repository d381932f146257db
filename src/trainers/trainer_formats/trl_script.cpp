// TRL: Python scripts and notebooks that call SFTTrainer.
#include <fmt/format.h>

#include "trainers/common.hpp"
#include "trainers/fsdp.hpp"
#include "trainers/scripts.hpp"
#include "trainers/trainer_format.hpp"
#include "trainers/zero.hpp"

namespace vramfit::trainers {

namespace {

constexpr KeyRow kSftKeys[] = {
    {"max_length", KeyUse::used, "batch.sequence_length"},
    {"max_seq_length", KeyUse::used, "batch.sequence_length"},
    {"packing", KeyUse::used, "batch"},
    {"packing_strategy", KeyUse::used, "batch"},
    {"pad_to_multiple_of", KeyUse::used, "batch"},
    {"loss_type", KeyUse::used, "loop.loss"},
    {"router_aux_loss_coef", KeyUse::used, "training.router_aux_loss_coef"},
    {"padding_free", KeyUse::unsupported, "flattened batches are not predicted"},
    {"activation_offloading", KeyUse::unsupported, "activations in host memory are not predicted"},
    {"chat_template_path", KeyUse::unsupported, "a template from elsewhere may bring tokens and resize the embedding"},
};
constexpr auto kSftRows = harmless_rows(kIgnoredSftArguments);
const std::span<const KeyRow> kSftTables[] = {kSftKeys,           kScriptKeys,        kScriptHarmless, kFsdpArguments,
                                              kTrainingArguments, kHarmlessArguments, kSftRows};

bool is_trl_script(const Document& document) {
    return document.syntax == Syntax::python && !is_unsloth(document) && !is_plain_trainer(document);
}

/// Arguments that went with releases: trl 0.13 took the rows' off the trainer, 0.20 max_seq_length out of SFTConfig
/// (trl 0.12.2 and 0.15.2 sft_trainer.py, 0.19.1 and 0.20.0 sft_config.py), 0.16 the tokenizer.
void judge_releases(Reader& reader) {
    const Version trl = reader.stack().trl;
    const auto gone = [&](const char* key, Version since, const char* instead) {
        if (reader.has(key) && trl >= since)
            reader.invalid(key, fmt::format("trl from {} on has no such argument", text_of(since)), instead);
    };
    gone("max_seq_length", {0, 20, 0}, "max_length of SFTConfig");
    gone("trainer.max_seq_length", {0, 13, 0}, "max_length of SFTConfig");
    gone("trainer.packing", {0, 13, 0}, "packing of SFTConfig");
    gone("trainer.dataset_text_field", {0, 13, 0}, "dataset_text_field of SFTConfig");
    gone("trainer.dataset_num_proc", {0, 13, 0}, "dataset_num_proc of SFTConfig");
    gone("trainer.tokenizer", {0, 16, 0}, "processing_class");
}

void read_trl_script(Reader& reader, Draft& draft) {
    draft.training_read = true;
    if (!judge_script(reader)) return;
    judge_releases(reader);
    read_ddp(reader, draft);
    read_fsdp_arguments(reader, draft);
    allow_zero(draft);
    // TrainingArguments become an SFTConfig with all their values (trl 1.16.0, sft_trainer.py SFTTrainer.__init__).
    const bool own = reader.text("config_class").value_or("SFTConfig") != "TrainingArguments";
    const Version trl = reader.stack().trl;
    read_training_arguments(
        reader, {.batch = 8, .checkpointing = own && trl >= Version{0, 22, 0}, .bf16 = own && trl >= Version{0, 20, 0}},
        draft);
    read_script_network(reader, true, draft);
    TrainPlan& plan = draft.job.plan;
    const bool own_loss = plan.training.use_liger_kernel && !plan.load.quantization;
    plan.loop.kind = trl == Version{} || own_loss ? LoopKind::trainer : LoopKind::sft;
    if (plan.loop.kind == LoopKind::trainer) require_input_grads(draft);
    plan.sft_makes_adapters = plan.loop.kind == LoopKind::sft && plan.peft && !reader.has("adapted");
    plan.training.router_aux_loss_coef = reader.real("router_aux_loss_coef");
    if (own_loss && draft.job.model.mixture)
        reader.refuse("use_liger_kernel", "a mixture with Liger's fused loss is not predicted in a script");
    read_script_rows(reader, draft);
    const std::string loss = reader.text("loss_type").value_or("nll");
    if (loss != "nll" && !(loss == "chunked_nll" && reader.stack().sft_scores_in_chunks()))
        reader.refuse("loss_type", fmt::format("the loss '{}' is not predicted", loss), "supported: nll");
}

}  // namespace

}  // namespace vramfit::trainers

namespace vramfit::trainer_formats {

extern const TrainerFormat trl_script_entry;
const TrainerFormat trl_script_entry = {
    .name = "trl-script",
    .title = "TRL 1.16",
    .summary = "Python scripts and notebooks with SFTTrainer",
    .order = 4,
    .recognises = trainers::is_trl_script,
    .keys = trainers::kSftTables,
    .model = [](trainers::Reader& reader) { return reader.text("model").value_or(""); },
    .read = trainers::read_trl_script,
    .knobs = {.batch = "per_device_train_batch_size",
              .accumulation = "gradient_accumulation_steps",
              .rank = "peft_config.r",
              .checkpointing = "gradient_checkpointing=True",
              .liger = "use_liger_kernel=True",
              .optimizer = "optim=paged_adamw_8bit",
              .unpacked = "packing=False"},
};

}  // namespace vramfit::trainer_formats
