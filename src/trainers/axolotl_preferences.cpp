// axolotl 0.18 and 0.19 core/builders/rl.py HFRLTrainerBuilder, core/builders/causal.py, core/trainers/dpo.
#include "trainers/axolotl_preferences.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "trainers/axolotl_groups.hpp"
#include "trainers/common.hpp"
#include "trainers/preferences.hpp"
#include "vramfit/spec/plan_names.hpp"

namespace vramfit::trainers {

namespace {

/// A value of `rl`, and the trainer of trl's that it stands for.
struct AxolotlTrainer {
    std::string_view rl;
    LoopKind loop;
};
constexpr AxolotlTrainer kAxolotlTrainers[] = {{"dpo", LoopKind::dpo},   {"ipo", LoopKind::dpo},
                                               {"kto", LoopKind::kto},   {"orpo", LoopKind::orpo},
                                               {"grpo", LoopKind::grpo}, {"simpo", LoopKind::cpo}};

/// utils/schemas/validation.py set_reward_model_defaults; loaders/utils.py load_model_config hands num_labels to the
/// configuration, of which language models have no use.
std::optional<LoopKind> loop_of_rewards(Reader& reader) {
    const bool rows = reader.boolean("reward_model").value_or(false);
    const bool steps = reader.boolean("process_reward_model").value_or(false);
    const std::int64_t labels = reader.integer("num_labels", {.low = 1}).value_or(steps ? 2 : 1);
    if (rows && steps) reader.refuse("process_reward_model", "rewards of rows and of steps at once", "one of the two");
    if (labels != (steps ? 2 : 1))
        reader.refuse("num_labels", fmt::format("a head with {} labels is not predicted", labels),
                      steps  ? "2"
                      : rows ? "1"
                             : "take the key out");
    return rows ? std::optional(LoopKind::reward) : steps ? std::optional(LoopKind::prm) : std::nullopt;
}

std::optional<LoopKind> loop_of(Reader& reader, const std::string& rl) {
    if (rl.empty()) return loop_of_rewards(reader);
    for (const AxolotlTrainer& each : kAxolotlTrainers)
        if (each.rl == rl) return each.loop;
    reader.refuse("rl", fmt::format("training with {} is not predicted", rl),
                  "predicted: dpo, ipo, kto, orpo, simpo, grpo; or go on without its effect: --assume-off rl");
    return std::nullopt;
}

/// DPOStrategy.set_training_args_kwargs.
void read_axolotl_dpo(Reader& reader, const std::string& rl, PreferencePlan& plan) {
    plan.maker = TrainerMaker::axolotl;  // AxolotlDPOTrainer.training_step
    if (rl == "ipo")
        plan.loss_types = {PairLoss::ipo};
    else
        read_pair_losses(reader, "dpo_loss_type", plan);
    plan.precompute_ref_log_probs = reader.boolean("precompute_ref_log_probs").value_or(false);
    if (reader.boolean("dpo_use_weighting").value_or(false))
        reader.refuse("dpo_use_weighting", "weighted losses are not predicted", "false");
    if (reader.boolean("dpo_use_liger_kernel").value_or(false))
        reader.refuse("dpo_use_liger_kernel", "Liger's loss of DPO is not predicted", "false");
}

/// train.py setup_reference_model loads a reference for all but ORPO where there is no adapter, or where it is asked
/// to; core/builders/rl.py _get_trainer_cls gives it to DPO alone. loaders/model.py _load_adapters.
void judge_axolotl_model(Reader& reader, Draft& draft) {
    TrainPlan& plan = draft.job.plan;
    const LoopKind loop = plan.loop.kind;
    const bool by_axolotl = loop != LoopKind::orpo && loop != LoopKind::reward && loop != LoopKind::prm &&
                            (!plan.peft || reader.boolean("rl_adapter_ref_model").value_or(false));
    if (by_axolotl) {
        const bool given = loop == LoopKind::dpo;
        plan.preference.reference_source = given ? ReferenceSource::given : ReferenceSource::unused;
        reader.derive("trl.ref_model", given ? "given" : "unused",
                      plan.peft ? "rl_adapter_ref_model" : "axolotl loads a reference where there is no adapter");
    }
    if (by_axolotl && plan.preference.precompute_ref_log_probs)
        reader.refuse("precompute_ref_log_probs",
                      "beside the reference that axolotl loads, which stays on the GPU, scores that are made before "
                      "training are not predicted",
                      "false");
    if (!has_reference(loop)) plan.trl_makes_adapters = false;
}

/// Rows are padded to the longest of a batch; what fills or flattens them is for causal training alone.
void read_axolotl_rows(Reader& reader, Draft& draft) {
    if (draft.packed) reader.invalid("sample_packing", "axolotl packs no preferences", "false");
    if (reader.has("pad_to_multiple_of"))
        reader.refuse("pad_to_multiple_of", "padding to a multiple is not predicted with preferences", "take it out");
    const LoopKind loop = draft.job.plan.loop.kind;
    if (loop == LoopKind::reward || loop == LoopKind::prm) return;  // the collator of causal training pads them
    draft.pad_multiple = 1;
    draft.padded_to_limit = false;
}

/// core/builders/causal.py: eval_accumulation_steps, after which the logits that PRMTrainer keeps go to the host.
void evaluate_prm(Draft& draft) {
    if (draft.evaluation) draft.evaluation->accumulation = draft.job.plan.training.gradient_accumulation_steps;
}

}  // namespace

void read_axolotl_preferences(Reader& reader, Draft& draft) {
    const std::string rl = reader.text("rl").value_or("");
    const auto loop = loop_of(reader, rl);
    if (!loop) return;
    TrainPlan& plan = draft.job.plan;
    plan.loop.kind = *loop;
    reader.derive("loop.kind", std::string(name_of(*loop)),
                  !rl.empty()              ? fmt::format("rl: {}", rl)
                  : *loop == LoopKind::prm ? "process_reward_model"
                                           : "reward_model");
    refuse_divided(draft);
    if (*loop == LoopKind::reward) draft.no_zero = nullptr;
    if (*loop == LoopKind::dpo) read_axolotl_dpo(reader, rl, plan.preference);
    if (*loop == LoopKind::cpo) {
        plan.preference.contrast_loss = ContrastLoss::simpo;
        plan.preference.adds_likelihood = reader.real_or("cpo_alpha", 1.0) != 0;
    }
    if (*loop == LoopKind::reward)
        plan.preference.centers_rewards = reader.real("center_rewards_coefficient").has_value();
    if (*loop == LoopKind::prm) evaluate_prm(draft);
    if (*loop == LoopKind::grpo) read_axolotl_groups(reader, draft);
    read_axolotl_rows(reader, draft);
    judge_axolotl_model(reader, draft);
}

}  // namespace vramfit::trainers
