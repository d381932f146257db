// trl 1.16 SFTTrainer.__init__ and those of DPO, GRPO, RLOO: "PEFT + DeepSpeed ZeRO-3 requires reentrant
// checkpointing".
#include "vramfit/spec/checkpointing.hpp"

namespace vramfit {

std::optional<bool> use_reentrant_of(const TrainPlan& plan, const Stack& stack) {
    const bool by_trl = plan.loop.kind == LoopKind::sft || is_preference(plan.loop.kind);
    const bool forced =
        by_trl && stack.sft_scores_in_chunks() && plan.peft && is_zero3(plan) && plan.training.gradient_checkpointing;
    return forced ? true : plan.training.use_reentrant;
}

}  // namespace vramfit
