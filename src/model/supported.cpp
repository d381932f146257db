// The list of refusals.
#include "model/supported.hpp"

#include "vramfit/base/error.hpp"

namespace vramfit::model {

void refuse_unsupported(const Run& run) {
    std::vector<Problem> problems;
    const TrainPlan& plan = run.plan;
    if (plan.training.use_liger_kernel)
        problems.push_back({"training.use_liger_kernel", "Liger's kernels are not supported yet", "leave it out"});
    if (plan.peft && plan.peft->use_dora && !run.stack.dora_reuses_the_result())
        problems.push_back({"peft.use_dora", "DoRA of this version of peft is not supported",
                            "choose a stack with peft 0.14 or later"});
    if (plan.loop.kind == LoopKind::dpo || (plan.loop.kind == LoopKind::sft && !run.stack.sft_prepares_model()))
        problems.push_back({"loop.kind", "trl's trainer of this version is not supported yet",
                            "\"trainer\" is transformers' own; trl 0.8's SFTTrainer is supported"});
    if (plan.load.attention == AttentionImplementation::flash_attention_2)
        problems.push_back({"load.attn_implementation", "the package flash_attn is not supported yet",
                            "sdpa takes PyTorch's own copy of the kernels"});
    if (!problems.empty()) throw Error(ErrorKind::unsupported, std::move(problems));
}

}  // namespace vramfit::model
