// ms-swift 4.6 swift/arguments/rlhf_args.py RLHFArguments; rlhf_trainers/dpo_trainer.py, reward_trainer.py,
// kto_trainer.py, orpo_trainer.py, cpo_trainer.py.
#include "trainers/ms_swift_preferences.hpp"

#include <algorithm>
#include <iterator>
#include <string>

#include <fmt/format.h>

#include "trainers/common.hpp"
#include "trainers/ms_swift_groups.hpp"
#include "trainers/preferences.hpp"
#include "vramfit/spec/plan_names.hpp"

namespace vramfit::trainers {

bool is_swift_rlhf(Reader& reader) { return reader.document().program == "swift rlhf" || reader.has("rlhf_type"); }

namespace {

/// RLHFArguments.__post_init__: of full fine-tuning the model itself where nothing else is said.
void judge_reference(Reader& reader, const TrainPlan& plan) {
    const auto reference = reader.text("ref_model");
    if (!reference) return;
    const bool in_groups = plan.loop.kind == LoopKind::grpo;
    if (in_groups && !plan.preference.grpo.has_reference) return;  // it is left out
    if (plan.peft || (!in_groups && !has_reference(plan.loop.kind)))
        return reader.invalid("ref_model",
                              "ms-swift stops: CPO/ORPO or LoRA training does not require a ref_model to be passed in",
                              "take it out");
    if (*reference != reader.text("model").value_or(""))
        reader.refuse("ref_model", "a reference that is another model is not predicted", "the model itself");
}

constexpr Named<LoopKind> kRlhfTypes[] = {{"dpo", LoopKind::dpo},   {"rm", LoopKind::reward}, {"kto", LoopKind::kto},
                                          {"orpo", LoopKind::orpo}, {"cpo", LoopKind::cpo},   {"simpo", LoopKind::cpo},
                                          {"grpo", LoopKind::grpo}};

}  // namespace

void read_swift_preferences(Reader& reader, Draft& draft) {
    TrainPlan& plan = draft.job.plan;
    const std::string type = reader.text_or("rlhf_type", "dpo");
    const auto known =
        std::find_if(std::begin(kRlhfTypes), std::end(kRlhfTypes), [&](const auto& row) { return row.name == type; });
    if (known == std::end(kRlhfTypes))
        return reader.refuse("rlhf_type", fmt::format("ms-swift's training with {} is not predicted", type),
                             "predicted: dpo, rm, kto, orpo, cpo, simpo, grpo");
    plan.loop.kind = known->value;
    plan.preference.maker = TrainerMaker::ms_swift;
    plan.trl_makes_adapters = false;
    plan.loop.input_require_grads = false;                                     // comes with the trainer
    if (type == "simpo") plan.preference.contrast_loss = ContrastLoss::simpo;  // _init_simpo
    if (plan.loop.kind == LoopKind::grpo)
        read_swift_groups(reader, draft);
    else
        read_losses_of(reader, plan.loop.kind, plan.preference);
    if (type == "rm") plan.preference.centers_rewards = reader.real("center_rewards_coefficient").has_value();
    if (type == "dpo") plan.preference.adds_sft = reader.real("rpo_alpha").has_value();
    plan.training.router_aux_loss_coef = 0;  // TrainArgumentsMixin
    judge_reference(reader, plan);
    if (reader.boolean("packing").value_or(false)) reader.refuse("packing", "packed pairs are not predicted", "false");
    draft.packed = draft.packing_needs_mask = false;
    refuse_divided(draft);
    if (plan.loop.kind != LoopKind::dpo && plan.loop.kind != LoopKind::reward) return;
    read_ddp(reader, draft);
}

}  // namespace vramfit::trainers
