// Liger's fused loss computes with the head's weight while the head itself does not run: what gathers it has to be
// around the model.
#include "spec/plan_check_parts.hpp"

namespace vramfit {

namespace {

constexpr const char* kWhere = "training.use_liger_kernel";

void refuse(Problems& problems, const char* what, const char* hint) { problems.unsupported(kWhere, what, hint); }

void check_under_fsdp1(const TrainPlan& plan, const Fsdp1Plan& fsdp, Problems& problems) {
    if (fsdp.wrap_policy == WrapPolicy::size_based)
        refuse(problems, "with units by size Liger's loss is not supported", "auto_wrap_policy TRANSFORMER_BASED_WRAP");
    if (fsdp.sharding_strategy == FsdpStrategy::no_shard || plan.distributed->shard_size() == 1)
        refuse(problems, "under NO_SHARD Liger's loss is not supported", "full_shard, or kind ddp");
}

void check_under_fsdp2(const ModelSpec& model, const TrainPlan& plan, const Fsdp2Plan& fsdp, Problems& problems) {
    if (fsdp.context.size > 1) refuse(problems, "under context parallelism Liger's loss is not supported", "cp_size 1");
    // accelerate 1.15 fsdp2_prepare_model: with adapters the head is a group of its own, unless it shares the
    // embedding's. axolotl's head is the root's.
    if (plan.peft && !model.tie_word_embeddings && fsdp.prepared_by == FsdpPreparation::accelerate)
        problems.invalid(kWhere,
                         "torch stops: with adapters nothing gathers the head for Liger's loss (aten.mm.out got mixed "
                         "torch.Tensor and DTensor)",
                         "leave it out, or FSDP1");
}

}  // namespace

void check_liger_units(const ModelSpec& model, const TrainPlan& plan, const Stack& stack, Problems& problems) {
    if (!plan.training.use_liger_kernel || !plan.distributed) return;
    const Fsdp1Plan* const first = plan.distributed->as<Fsdp1Plan>();
    const Fsdp2Plan* const second = plan.distributed->as<Fsdp2Plan>();
    if (!first && !second) return;
    if (!stack.fsdp2_is_known())
        refuse(problems, "under FSDP it is supported with transformers 5.17 only", "--stack hf-2026-11");
    // trl 1.16 trainer/sft_trainer.py SFTTrainer.__init__ switches Liger's loss off: its own gathers the head.
    if (plan.loop.kind == LoopKind::sft) {
        if (second && second->context.size > 1)
            refuse(problems, "with SFTTrainer it was not compared under context parallelism yet", "cp_size 1");
        return;
    }
    if (plan.peft && has_more_than_matrices(*plan.peft))
        refuse(problems, "under FSDP it is supported with LoRA's two matrices only",
               "no use_dora, bias, lora_bias, modules_to_save, target_parameters");
    if (first) check_under_fsdp1(plan, *first, problems);
    if (second) check_under_fsdp2(model, plan, *second, problems);
}

}  // namespace vramfit
