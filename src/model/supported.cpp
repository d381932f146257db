// The list of refusals.
#include "model/supported.hpp"

#include <fmt/format.h>

#include "vramfit/base/error.hpp"
#include "vramfit/spec/config.hpp"

namespace vramfit::model {

void refuse_unsupported(const Run& run) {
    std::vector<Problem> problems;
    const TrainPlan& plan = run.plan;
    const Version exact_since = family_exact_since(run.spec.model_type);
    if (run.stack.transformers < exact_since)
        problems.push_back({"model.model_type",
                            fmt::format("{} is not supported with transformers {}", run.spec.model_type,
                                        text_of(run.stack.transformers)),
                            fmt::format("choose a stack with transformers {} or later", text_of(exact_since))});
    if (plan.training.use_liger_kernel)
        problems.push_back({"training.use_liger_kernel", "Liger's kernels are not supported yet", "leave it out"});
    if (plan.loop.kind == LoopKind::dpo || (plan.loop.kind == LoopKind::sft && !run.stack.sft_prepares_model()))
        problems.push_back({"loop.kind", "trl's trainer of this version is not supported yet",
                            "\"trainer\" is transformers' own; trl 0.8's SFTTrainer is supported"});
    if (plan.load.attention == AttentionImplementation::flash_attention_2) {
        const AttentionMask mask = plan.batch.attention_mask;
        if (mask != AttentionMask::absent && mask != AttentionMask::ones)
            problems.push_back(
                {"batch.attention_mask",
                 "the package flash_attn packs the tokens of padded rows: how many there are is not known",
                 "\"ones\" or \"absent\", or sdpa"});
    }
    if (!problems.empty()) throw Error(ErrorKind::unsupported, std::move(problems));
}

}  // namespace vramfit::model
