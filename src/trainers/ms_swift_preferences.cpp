// ms-swift 4.6 swift/arguments/rlhf_args.py RLHFArguments; rlhf_trainers/dpo_trainer.py.
#include "trainers/ms_swift_preferences.hpp"

#include <fmt/format.h>

#include "trainers/common.hpp"
#include "trainers/preferences.hpp"
#include "vramfit/spec/plan_names.hpp"

namespace vramfit::trainers {

bool is_swift_rlhf(Reader& reader) { return reader.document().program == "swift rlhf" || reader.has("rlhf_type"); }

namespace {

/// RLHFArguments.__post_init__: of full fine-tuning the model itself where nothing else is said.
void judge_reference(Reader& reader, const TrainPlan& plan) {
    const auto reference = reader.text("ref_model");
    if (!reference) return;
    if (plan.peft)
        return reader.invalid("ref_model",
                              "ms-swift stops: CPO/ORPO or LoRA training does not require a ref_model to be passed in",
                              "take it out");
    if (*reference != reader.text("model").value_or(""))
        reader.refuse("ref_model", "a reference that is another model is not predicted", "the model itself");
}

}  // namespace

void read_swift_preferences(Reader& reader, Draft& draft) {
    TrainPlan& plan = draft.job.plan;
    const std::string type = reader.text_or("rlhf_type", "dpo");
    if (type != "dpo")
        return reader.refuse("rlhf_type", fmt::format("ms-swift's training with {} is not predicted", type),
                             "predicted: dpo");
    plan.loop.kind = LoopKind::dpo;
    plan.preference.maker = TrainerMaker::ms_swift;
    plan.trl_makes_adapters = false;
    plan.loop.input_require_grads = false;  // comes with the trainer
    read_pair_losses(reader, "loss_type", plan.preference);
    plan.preference.adds_sft = reader.real("rpo_alpha").has_value();
    plan.training.router_aux_loss_coef = 0;  // TrainArgumentsMixin
    judge_reference(reader, plan);
    if (reader.boolean("packing").value_or(false)) reader.refuse("packing", "packed pairs are not predicted", "false");
    draft.packed = draft.packing_needs_mask = false;
    refuse_divided(draft);
}

}  // namespace vramfit::trainers
