// Cards that Unsloth's step was not compared with.
#include "model/unsloth/refusals.hpp"

#include <fmt/format.h>

#include "vramfit/spec/plan_check.hpp"

namespace vramfit::model {

void refuse_in_unsloth(const Run& run, std::vector<Problem>& problems) {
    if (run.plan.loop.kind != LoopKind::unsloth) return;
    const Capability card = run.session.device.capability;
    const bool has_bfloat16 = card >= Capability{8, 0};
    if (!unsloth_was_compared_on(card))
        problems.push_back(
            {"card",
             fmt::format("Unsloth's step was not compared with cards of capability {}.{}", card.major, card.minor),
             "cards of capability 7.5 to 9.0"});
    if (run.plan.training.fp16 == has_bfloat16)
        problems.push_back({has_bfloat16 ? "training.fp16" : "training.bf16",
                            has_bfloat16 ? "fp16 is not supported with Unsloth on cards that have bfloat16"
                                         : "the card has no bfloat16",
                            has_bfloat16 ? "bf16" : "fp16"});
}

}  // namespace vramfit::model
