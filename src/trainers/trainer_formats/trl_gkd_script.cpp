// TRL: Python scripts and notebooks that call GKDTrainer, trl/experimental/gkd of 1.16.0.
#include "trainers/common.hpp"
#include "trainers/keys/trl_preferences.hpp"
#include "trainers/scripts.hpp"
#include "trainers/second_networks.hpp"
#include "trainers/trainer_format.hpp"
#include "vramfit/spec/plan_names.hpp"

namespace vramfit::trainers {

namespace {

constexpr const char* kTeacher = "trainer.teacher_model";

constexpr KeyRow kGkdScriptKeys[] = {
    {"GKDTrainer", KeyUse::harmless},
    {"lmbda", KeyUse::used, "training.lmbda", "0|1"},
    {"beta", KeyUse::used, "training.beta", "0|0.5"},
    {"temperature", KeyUse::used, "training.temperature", "1|0.7"},
    {"max_new_tokens", KeyUse::used, "training.max_new_tokens", "64|128"},
    {"seq_kd", KeyUse::used, "training.seq_kd", "true|false"},
    {"max_length", KeyUse::used, "batch.sequence_length"},
    {"disable_dropout", KeyUse::used, "training.disable_dropout", "true|false"},
    {"teacher_model_init_kwargs", KeyUse::used, "loop.teacher"},
    {"teacher_model_init_kwargs.*", KeyUse::used, "loop.teacher"},
    {"teacher_model_name_or_path", KeyUse::harmless},
    {"peft_config.task_type", KeyUse::unsupported, "another task needs another head", "CAUSAL_LM"},
    {"adapted", KeyUse::used, "trl.peft_config"},
    {kTeacher, KeyUse::used, "loop.teacher"},
    {"trainer.teacher_model.*", KeyUse::used, "loop.teacher"},
    {"trainer.data_collator", KeyUse::unsupported, "rows that another collator makes are not predicted"},
    {"packing", KeyUse::unsupported, "packed rows in distillation are not predicted"},
    {"padding_free", KeyUse::unsupported, "flattened batches are not predicted"},
    {"activation_offloading", KeyUse::unsupported, "activations in host memory are not predicted"},
    {"chat_template_path", KeyUse::unsupported, "a template from elsewhere may bring tokens and resize the embedding"},
};
constexpr auto kGkdSftRows = harmless_rows(kIgnoredSftArguments);
const std::span<const KeyRow> kGkdScriptTables[] = {kGkdScriptKeys,     kScriptKeys,        kScriptHarmless,
                                                    kTrainingArguments, kHarmlessArguments, kGkdSftRows};

bool is_gkd_script(const Document& document) { return calls_trainer(document, "GKDTrainer"); }

void read_gkd_arguments(Reader& reader, DistillationPlan& plan) {
    plan.lmbda = reader.real_or("lmbda", 0.5);
    plan.beta = reader.real_or("beta", 0.5);
    for (const char* key : {"lmbda", "beta"})
        if (reader.real(key).value_or(0) > 1)
            reader.invalid(key, "trl stops: it must be in the range [0.0, 1.0]", "a number from 0 to 1");
    plan.max_new_tokens = reader.integer_or("max_new_tokens", 128, {.low = 1});
    plan.has_temperature = reader.real("temperature").value_or(0.9) != 1;
    plan.seq_kd = reader.boolean("seq_kd").value_or(false);
}

void read_gkd_script(Reader& reader, Draft& draft) {
    draft.training_read = true;
    if (!judge_script(reader)) return;
    const std::string config = reader.text("config_class").value_or("GKDConfig");
    if (config.find("GKDConfig") == config.npos)
        reader.invalid("config_class", "GKDTrainer takes a GKDConfig", "GKDConfig");
    draft.no_fsdp = "FSDP in distillation is not predicted";
    draft.no_zero = "DeepSpeed in distillation is not predicted";
    draft.no_zero3 = draft.no_zero;
    read_training_arguments(reader, kTrlDefaults, draft);
    TrainPlan& plan = draft.job.plan;
    plan.loop.kind = LoopKind::gkd;
    reader.derive("loop.kind", "gkd", "GKDTrainer");
    read_script_network(reader, true, draft);
    plan.trl_makes_adapters = !reader.has("adapted");
    read_gkd_arguments(reader, plan.distillation);
    plan.preference.disable_dropout = reader.boolean("disable_dropout").value_or(true);
    refuse_evaluation(reader, "evaluation in distillation is not predicted", draft);
    read_teacher_of_script(reader, draft);
    draft.length_limit = reader.integer_or("max_length", 1024, {.low = 2});
    draft.length_key = "max_length";
    draft.length_place = reader.place("max_length");
}

}  // namespace

}  // namespace vramfit::trainers

namespace vramfit::trainer_formats {

extern const TrainerFormat trl_gkd_script_entry;
const TrainerFormat trl_gkd_script_entry = {
    .name = "trl-gkd-script",
    .title = "TRL 1.16",
    .summary = "Python scripts and notebooks with GKDTrainer",
    .order = 3,
    .recognises = trainers::is_gkd_script,
    .keys = trainers::kGkdScriptTables,
    .model = [](trainers::Reader& reader) { return reader.text("model").value_or(""); },
    .read = trainers::read_gkd_script,
    .knobs = trainers::kTrlScriptKnobs,
};

}  // namespace vramfit::trainer_formats
