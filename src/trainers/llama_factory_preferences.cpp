// LLaMA-Factory 0.9.5 hparams/finetuning_args.py RLHFArguments; train/dpo, kto and rm.
#include "trainers/llama_factory_preferences.hpp"

#include <optional>

#include <fmt/format.h>

#include "trainers/common.hpp"
#include "trainers/preferences.hpp"
#include "vramfit/spec/plan_names.hpp"

namespace vramfit::trainers {

namespace {

/// A pref_loss, and the loop that it is here.
struct FactoryLoss {
    LoopKind loop;
    PairLoss loss;
};
constexpr Named<FactoryLoss> kFactoryLosses[] = {
    {"sigmoid", {LoopKind::dpo, PairLoss::sigmoid}}, {"hinge", {LoopKind::dpo, PairLoss::hinge}},
    {"ipo", {LoopKind::dpo, PairLoss::ipo}},         {"kto_pair", {LoopKind::dpo, PairLoss::sigmoid}},
    {"orpo", {LoopKind::orpo, PairLoss::sigmoid}},   {"simpo", {LoopKind::cpo, PairLoss::sigmoid}}};

LoopKind loop_of_stage(const std::string& stage) {
    return stage == "kto" ? LoopKind::kto : stage == "rm" ? LoopKind::reward : LoopKind::dpo;
}

void read_factory_loss(Reader& reader, TrainPlan& plan) {
    if (!reader.has("pref_loss")) reader.assume("pref_loss", "sigmoid");
    const std::string word = reader.text("pref_loss").value_or("sigmoid");
    const Named<FactoryLoss>* found = nullptr;
    for (const Named<FactoryLoss>& each : kFactoryLosses)
        if (each.name == word) found = &each;
    if (!found)
        return reader.invalid("pref_loss", fmt::format("LLaMA-Factory has no loss '{}'", word),
                              "sigmoid, hinge, ipo, kto_pair, orpo or simpo");
    plan.loop.kind = found->value.loop;
    plan.preference.loss_types = {found->value.loss};
    if (plan.loop.kind == LoopKind::cpo) plan.preference.contrast_loss = ContrastLoss::simpo;
    // CustomDPOTrainer calls trl 0.24's dpo_loss without a loss_type.
    if (word == "hinge" || word == "kto_pair" || word == "ipo")
        reader.note(RemarkKind::odd_value,
                    fmt::format("pref_loss: LLaMA-Factory 0.9.5 computes the loss sigmoid{} where {} is asked for",
                                word == "ipo" ? ", of averages," : "", word),
                    "sigmoid, orpo or simpo");
    if (word != "sigmoid" && reader.real("dpo_label_smoothing").value_or(0) > 1e-6)
        reader.invalid("dpo_label_smoothing",
                       "LLaMA-Factory stops: `dpo_label_smoothing` is only valid for sigmoid loss function", "0");
}

}  // namespace

bool is_factory_preference(const std::string& stage) { return stage == "dpo" || stage == "kto" || stage == "rm"; }

void read_factory_preferences(Reader& reader, const std::string& stage, Draft& draft) {
    TrainPlan& plan = draft.job.plan;
    plan.preference.maker = TrainerMaker::llama_factory;
    plan.trl_makes_adapters = false;
    plan.loop.input_require_grads = false;  // comes with the trainer
    plan.loop.kind = loop_of_stage(stage);
    if (stage == "dpo") read_factory_loss(reader, plan);
    reader.derive("loop.kind", std::string(name_of(plan.loop.kind)), fmt::format("stage: {}", stage));
    if (stage != "rm") plan.preference.adds_sft = reader.real_or("pref_ftx", 0) > 1e-6;
    if (stage == "dpo" && reader.real("pref_bco_weight").value_or(0) > 1e-6)
        reader.refuse("pref_bco_weight", "a BCO loss beside the other is not predicted", "0");
    if (stage == "dpo" && reader.real("ld_alpha"))
        reader.refuse("ld_alpha", "length desensitization is not predicted", "take it out");
    if (reader.boolean("neat_packing").value_or(false))
        reader.invalid("neat_packing", "LLaMA-Factory stops: `neat_packing` cannot be set as True except SFT", "false");
    draft.packed = draft.packing_needs_mask = false;  // its processors of preferences pack nothing
    refuse_divided(draft);
}

}  // namespace vramfit::trainers
