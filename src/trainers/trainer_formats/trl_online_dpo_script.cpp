// TRL: Python scripts and notebooks that call OnlineDPOTrainer, trl/experimental/online_dpo of 1.16.0.
#include <fmt/format.h>

#include "trainers/common.hpp"
#include "trainers/grpo.hpp"
#include "trainers/keys/trl_grpo.hpp"
#include "trainers/preferences.hpp"
#include "trainers/scripts.hpp"
#include "trainers/second_networks.hpp"
#include "trainers/trainer_format.hpp"
#include "vramfit/spec/plan_names.hpp"

namespace vramfit::trainers {

namespace {

constexpr KeyRow kOnlineScriptKeys[] = {
    {"OnlineDPOTrainer", KeyUse::harmless},
    {"beta", KeyUse::harmless},
    {"loss_type", KeyUse::used, "training.loss_type", "sigmoid|ipo"},
    {"max_new_tokens", KeyUse::used, "training.max_new_tokens", "64|128"},
    {"max_length", KeyUse::used, "training.max_length", "512|1024"},
    {"temperature", KeyUse::used, "training.temperature", "1|0.7"},
    {"repetition_penalty", KeyUse::used, "training.repetition_penalty", "1.0|1.1"},
    {"min_p", KeyUse::used, "training.min_p", ""},
    {"top_p", KeyUse::used, "training.top_p", "1.0|0.9"},
    {"top_k", KeyUse::used, "training.top_k", "0|20"},
    {"disable_dropout", KeyUse::used, "training.disable_dropout", "true|false"},
    {"missing_eos_penalty", KeyUse::unsupported, "a penalty for completions without an end is not predicted", "none"},
    {"use_vllm", KeyUse::unsupported, "generation by vLLM in online DPO is not predicted", "false"},
    {"cache_implementation", KeyUse::unsupported, "another cache of keys and values is not predicted"},
    {"generation_kwargs", KeyUse::unsupported, "further arguments of generation are not predicted"},
    {"generation_kwargs.*", KeyUse::unsupported, "further arguments of generation are not predicted"},
    {"reward_model_path", KeyUse::harmless},  // the trainer does not read it
    {"reward_weights", KeyUse::harmless},
    {"ds3_gather_for_generation", KeyUse::harmless},
    {"trainer.ref_model", KeyUse::unsupported, "a reference that the script loads itself is not predicted"},
    {"trainer.data_collator", KeyUse::unsupported, "rows that another collator makes are not predicted"},
};
constexpr std::string_view kIgnoredWithoutVllm[] = {"vllm_mode", "vllm_gpu_memory_utilization",
                                                    "vllm_tensor_parallel_size", "vllm_enable_sleep_mode"};
constexpr auto kIgnoredWithoutVllmRows = harmless_rows(kIgnoredWithoutVllm);
const std::span<const KeyRow> kOnlineScriptTables[] = {kOnlineScriptKeys,  kGroupScriptKeys,       kVllmHarmlessRows,
                                                       kScriptKeys,        kScriptHarmless,        kTrainingArguments,
                                                       kHarmlessArguments, kIgnoredWithoutVllmRows};

bool is_online_script(const Document& document) { return calls_trainer(document, "OnlineDPOTrainer"); }

void read_online_arguments(Reader& reader, Draft& draft) {
    TrainPlan& plan = draft.job.plan;
    GrpoPlan& how = plan.preference.grpo;
    how = plan_of_groups(LoopKind::online_dpo);
    if (const auto loss = choice<PairLoss>(reader, "loss_type", kOnlineLossNames)) plan.preference.loss_types = {*loss};
    read_sampling(reader, how);
    plan.preference.disable_dropout = reader.boolean("disable_dropout").value_or(true);
    how.max_completion_length = reader.integer_or("max_new_tokens", *how.max_completion_length, {.low = 1});
    plan.training.max_length = reader.integer_or("max_length", kOnlineMaxLength, {.low = 1});
    draft.group.emplace().completion = *how.max_completion_length;
}

void read_online_script(Reader& reader, Draft& draft) {
    draft.training_read = true;
    if (!judge_script(reader)) return;
    const std::string config = reader.text("config_class").value_or("OnlineDPOConfig");
    if (config.find("OnlineDPOConfig") == config.npos)
        reader.invalid("config_class", fmt::format("OnlineDPOTrainer takes no {}", config), "OnlineDPOConfig");
    draft.no_fsdp = "FSDP in training with rewards is not predicted";
    draft.no_zero = "DeepSpeed in online DPO is not predicted";
    draft.no_zero3 = draft.no_zero;
    read_training_arguments(reader, kTrlDefaults, draft);
    TrainPlan& plan = draft.job.plan;
    plan.loop.kind = LoopKind::online_dpo;
    reader.derive("loop.kind", "online_dpo", "OnlineDPOTrainer");
    read_script_network(reader, true, draft);
    plan.trl_makes_adapters = !reader.has("adapted");
    read_online_arguments(reader, draft);
    refuse_evaluation(reader, "generation during evaluation is not predicted", draft);
    if (!reader.value("trainer.reward_funcs"))
        reader.invalid("OnlineDPOTrainer", "trl stops: `reward_funcs` must be provided", "reward_funcs=...");
    read_reward_sources(reader, draft);
}

}  // namespace

}  // namespace vramfit::trainers

namespace vramfit::trainer_formats {

extern const TrainerFormat trl_online_dpo_script_entry;
const TrainerFormat trl_online_dpo_script_entry = {
    .name = "trl-online-dpo-script",
    .title = "TRL 1.16",
    .summary = "Python scripts and notebooks with OnlineDPOTrainer",
    .order = 3,
    .recognises = trainers::is_online_script,
    .keys = trainers::kOnlineScriptTables,
    .model = [](trainers::Reader& reader) { return reader.text("model").value_or(""); },
    .read = trainers::read_online_script,
    .knobs = trainers::kTrlScriptKnobs,
};

}  // namespace vramfit::trainer_formats
