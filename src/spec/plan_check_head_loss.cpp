// Losses with the head in them, Liger's and cut cross entropy, compute with the head's weight while the head itself
// does not run: what gathers it has to be around the model.
#include <fmt/format.h>

#include "spec/liger.hpp"
#include "spec/plan_check_parts.hpp"

namespace vramfit {

namespace {

/// Who is refused: which loss, by the key that asks for it.
struct HeadLoss {
    const char* key;
    const char* title;
    Problems& problems;

    void refuse(const char* where, const char* hint) const {
        problems.unsupported(key, fmt::format("{} {} is not supported", where, title), hint);
    }
};

void check_under_fsdp1(const HeadLoss& loss, const TrainPlan& plan, const Fsdp1Plan& fsdp) {
    if (fsdp.wrap_policy == WrapPolicy::size_based)
        loss.refuse("with units by size", "auto_wrap_policy TRANSFORMER_BASED_WRAP");
    if (fsdp.sharding_strategy == FsdpStrategy::no_shard || plan.distributed->shard_size() == 1)
        loss.refuse("under NO_SHARD", "full_shard, or kind ddp");
}

void check_under_fsdp2(const HeadLoss& loss, const ModelSpec& model, const TrainPlan& plan, const Fsdp2Plan& fsdp) {
    if (fsdp.context.size > 1) loss.refuse("under context parallelism", "cp_size 1");
    // accelerate 1.15 fsdp2_prepare_model: with adapters the head is a group of its own, unless it shares the
    // embedding's. axolotl's head is the root's.
    if (plan.peft && !model.tie_word_embeddings && fsdp.prepared_by == FsdpPreparation::accelerate)
        loss.problems.invalid(
            loss.key,
            plan.training.cut_cross_entropy
                ? "torch stops: with adapters nothing gathers the head for the loss (No `mesh_dim_names` found)"
                : "torch stops: with adapters nothing gathers the head for Liger's loss (aten.mm.out got mixed "
                  "torch.Tensor and DTensor)",
            "leave it out, or FSDP1");
}

}  // namespace

void check_head_losses(const ModelSpec& model, const TrainPlan& plan, const Stack& stack, Problems& problems) {
    const bool is_liger = plan.training.use_liger_kernel && has_liger(model.model_type);
    if (!plan.distributed || (!is_liger && !plan.training.cut_cross_entropy)) return;
    const HeadLoss loss{is_liger ? "training.use_liger_kernel" : "training.cut_cross_entropy",
                        is_liger ? "Liger's loss" : "cut cross entropy", problems};
    const Fsdp1Plan* const first = plan.distributed->as<Fsdp1Plan>();
    const Fsdp2Plan* const second = plan.distributed->as<Fsdp2Plan>();
    if (!first && !second) return;
    if (!stack.fsdp2_is_known())
        problems.unsupported(loss.key, "under FSDP it is supported with transformers 5.17 only", "--stack hf-2026-11");
    // trl 1.16 trainer/sft_trainer.py SFTTrainer.__init__ switches Liger's loss off: its own gathers the head.
    if (plan.loop.kind == LoopKind::sft) {
        if (second && second->context.size > 1)
            problems.unsupported(loss.key, "with SFTTrainer it was not compared under context parallelism yet",
                                 "cp_size 1");
        return;
    }
    if (plan.peft && has_more_than_matrices(*plan.peft))
        problems.unsupported(loss.key, "under FSDP it is supported with LoRA's two matrices only",
                             "no use_dora, bias, lora_bias, modules_to_save, target_parameters");
    if (first) check_under_fsdp1(loss, plan, *first);
    if (second) check_under_fsdp2(loss, model, plan, *second);
}

}  // namespace vramfit
