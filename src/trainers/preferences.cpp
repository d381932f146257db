// trl 1.16.0 trainer/dpo_config.py, dpo_trainer.py and those of the other trainers: arguments, rows, and what older
// releases had.
#include "trainers/preferences.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "spec/listed.hpp"
#include "trainers/common.hpp"
#include "trainers/keys/trl_preferences.hpp"
#include "vramfit/spec/plan_names.hpp"

namespace vramfit::trainers {

namespace {

constexpr PreferenceTrainer kPreferenceTrainers[] = {{"dpo", "DPOTrainer", "DPOConfig", LoopKind::dpo},
                                                     {"kto", "KTOTrainer", "KTOConfig", LoopKind::kto},
                                                     {"reward", "RewardTrainer", "RewardConfig", LoopKind::reward},
                                                     {"orpo", "ORPOTrainer", "ORPOConfig", LoopKind::orpo},
                                                     {"cpo", "CPOTrainer", "CPOConfig", LoopKind::cpo},
                                                     {"bco", "BCOTrainer", "BCOConfig", LoopKind::bco}};

}  // namespace

void read_pair_losses(Reader& reader, std::string_view key, PreferencePlan& plan) {
    const auto words = reader.texts(key);
    if (!words || words->empty()) return reader.assume(key, "sigmoid");
    plan.loss_types.clear();
    std::vector<std::string_view> names;
    for (const Named<PairLoss>& one : kPairLossNames) names.push_back(one.name);
    for (const std::string& word : *words) {
        const auto known = std::find(names.begin(), names.end(), word);
        if (known == names.end())
            reader.refuse(key, fmt::format("the loss '{}' is not predicted", word),
                          fmt::format("predicted: {}", fmt::join(names, ", ")));
        else
            plan.loss_types.push_back(kPairLossNames[known - names.begin()].value);
    }
}

namespace {

/// A script's file of keys goes on without what it does not know (trl 1.16.0 scripts/utils.py TrlParser, scripts/dpo.py
/// fail_with_unknown_args); argparse and Python stop.
void judge_gone_arguments(Reader& reader, const PreferenceTrainer& trainer) {
    for (const std::string_view key : kGoneFromDpo) {
        const Value* given = reader.value(key);
        const bool has = (is_contrast(trainer.loop) && is_listed(kOnlyOfContrast, key)) ||
                         (trainer.loop == LoopKind::bco && is_listed(kAlsoOfBco, key));
        if (!given || has) continue;
        const Syntax syntax = reader.document().syntax;
        const bool stops = syntax == Syntax::python || syntax == Syntax::shell || !given->file.empty();
        const std::string what =
            fmt::format("{} of trl {} has no such argument", trainer.config, text_of(reader.stack().trl));
        if (stops)
            reader.invalid(key, what, fmt::format("take it out; without it: --assume-off {}", key));
        else
            reader.note(RemarkKind::odd_value,
                        fmt::format("{}: {}: `trl {}` goes on without it", key, what, trainer.word),
                        key.starts_with("max_") ? "max_length alone says how long rows are" : "take it out");
    }
}

/// What is longer than max_length is cut; trl pads nothing up to it.
void read_pair_rows(Reader& reader, Draft& draft) {
    const Value* given = reader.document().root.at("max_length");
    if (!given || given->kind != Value::Kind::null)
        draft.length_limit = reader.integer_or("max_length", 1024, {.low = 2});
    draft.length_key = "max_length";
    draft.length_place = reader.place("max_length");
}

}  // namespace

const PreferenceTrainer* preference_trainer(std::string_view word_or_name) {
    for (const PreferenceTrainer& each : kPreferenceTrainers)
        if (each.word == word_or_name || each.name == word_or_name) return &each;
    return nullptr;
}

void read_losses_of(Reader& reader, LoopKind loop, PreferencePlan& plan) {
    if (loop == LoopKind::dpo) return read_pair_losses(reader, "loss_type", plan);
    if (loop == LoopKind::kto) {
        if (const auto loss = choice<UnpairedLoss>(reader, "loss_type", kUnpairedLossNames)) plan.unpaired_loss = *loss;
    } else if (loop == LoopKind::cpo) {
        if (const auto loss = choice<ContrastLoss>(reader, "loss_type", kContrastLossNames)) plan.contrast_loss = *loss;
        plan.adds_likelihood = reader.real_or("cpo_alpha", 1.0) != 0;
    } else if (reader.has("loss_type")) {
        reader.invalid("loss_type", fmt::format("{} has no such argument", trainer_of(loop)), "take it out");
    }
}

void judge_task(Reader& reader, std::string_view key, std::string_view trained, const Draft& draft) {
    const std::string task = reader.text(key).value_or("");
    const TrainPlan& plan = draft.job.plan;
    if (!plan.peft || (plan.loop.kind != LoopKind::reward && plan.load.num_labels == 0)) {
        if (!task.empty() && task != "CAUSAL_LM") reader.refuse(key, "another task needs another head", "CAUSAL_LM");
        return;
    }
    const char* const wanted = plan.load.labels_tokens ? "TOKEN_CLS" : "SEQ_CLS";
    if (task.ends_with(wanted)) return;
    // peft 0.21.2 peft_model.py PeftModelForCausalLM.__init__; trl 1.16.0 model_config.py: CAUSAL_LM where nothing is
    // said.
    const bool by_default = task.empty() && key == "lora_task_type";
    if (task == "CAUSAL_LM" || by_default)
        reader.invalid(key,
                       "peft stops: a network that classifies has no attribute 'prepare_inputs_for_generation', which "
                       "adapters of the task CAUSAL_LM ask for",
                       fmt::format("{}: {}", key, wanted));
    else
        reader.refuse(key, fmt::format("a {} whose head is not trained is not predicted", trained),
                      fmt::format("the task {}", wanted));
}

void read_preferences(Reader& reader, const PreferenceTrainer& trainer, Draft& draft) {
    TrainPlan& plan = draft.job.plan;
    plan.loop.kind = trainer.loop;
    reader.derive("loop.kind", std::string(name_of(trainer.loop)), std::string(trainer.name));
    if (trainer.loop == LoopKind::dpo || trainer.loop == LoopKind::reward) read_ddp(reader, draft);
    judge_gone_arguments(reader, trainer);
    read_losses_of(reader, trainer.loop, plan.preference);
    plan.preference.centers_rewards =
        trainer.loop == LoopKind::reward && reader.real("center_rewards_coefficient").has_value();
    plan.preference.precompute_ref_log_probs =
        has_reference(trainer.loop) && reader.boolean("precompute_ref_log_probs").value_or(false);
    plan.preference.syncs_reference = loads_reference(trainer.loop) && reader.boolean("sync_ref_model").value_or(false);
    if (loads_reference(trainer.loop))
        plan.preference.precompute_ref_batch_size = reader.integer("precompute_ref_batch_size", {.low = 1});
    plan.preference.disable_dropout = reader.boolean("disable_dropout").value_or(true);
    if (loads_reference(trainer.loop)) plan.training.router_aux_loss_coef = reader.real("router_aux_loss_coef");
    read_pair_rows(reader, draft);
}

void refuse_evaluation(Reader& reader, std::string_view why, Draft& draft) {
    if (!draft.evaluation) return;
    reader.refuse(draft.evaluation->key, std::string(why), "eval_strategy: no, or --assume-off eval_strategy");
    draft.evaluation.reset();
}

void refuse_divided(Draft& draft) {
    draft.no_fsdp = "FSDP in preference training is not predicted";
    draft.no_zero = draft.no_zero3 = "DeepSpeed in preference training is not predicted";
}

void refuse_divided_of_trl(const PreferenceTrainer& trainer, Draft& draft) {
    refuse_divided(draft);
    if (trainer.loop == LoopKind::reward) draft.no_zero = nullptr;
    if (trainer.loop == LoopKind::dpo) draft.no_fsdp = draft.no_zero = draft.no_zero3 = nullptr;
}

}  // namespace vramfit::trainers
