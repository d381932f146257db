// trl 1.16.0 trainer/dpo_config.py, dpo_trainer.py: arguments, rows, and what older releases had.
#include "trainers/preferences.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "trainers/common.hpp"
#include "trainers/keys/trl_preferences.hpp"
#include "vramfit/spec/plan_names.hpp"

namespace vramfit::trainers {

namespace {

constexpr PreferenceTrainer kPreferenceTrainers[] = {{"dpo", "DPOTrainer", "DPOConfig", LoopKind::dpo}};

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
        if (!given) continue;
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

void read_preferences(Reader& reader, const PreferenceTrainer& trainer, Draft& draft) {
    TrainPlan& plan = draft.job.plan;
    plan.loop.kind = trainer.loop;
    reader.derive("loop.kind", std::string(name_of(trainer.loop)), std::string(trainer.name));
    judge_gone_arguments(reader, trainer);
    read_pair_losses(reader, "loss_type", plan.preference);
    plan.preference.precompute_ref_log_probs = reader.boolean("precompute_ref_log_probs").value_or(false);
    plan.preference.precompute_ref_batch_size = reader.integer("precompute_ref_batch_size", {.low = 1});
    plan.preference.disable_dropout = reader.boolean("disable_dropout").value_or(true);
    plan.training.router_aux_loss_coef = reader.real("router_aux_loss_coef");
    read_pair_rows(reader, draft);
}

void refuse_divided(Draft& draft) {
    draft.no_fsdp = "FSDP in preference training is not predicted";
    draft.no_zero = draft.no_zero3 = "DeepSpeed in preference training is not predicted";
}

}  // namespace vramfit::trainers
