// Preference training by LLaMA-Factory's own trainers: what a plan has where no flag says otherwise.
#include "cli/flags/tables.hpp"
#include "vramfit/spec/pair_rows.hpp"
#include "vramfit/spec/stacks.hpp"

namespace vramfit::cli {

namespace {
constexpr const char* kFactoryStack = "llamafactory-0.9.5";
}

// The recipe asks for them, and so does their stack, whose trl has trainers of its own that are not predicted.
void settle_llama_factory(Job& job, const IsGiven& given) {
    TrainPlan& plan = job.plan;
    const bool by_recipe = plan.preference.maker == TrainerMaker::llama_factory;
    const bool asked = is_preference(plan.loop.kind) && (by_recipe || job.stack.name == kFactoryStack);
    plan.preference.maker = asked ? TrainerMaker::llama_factory : TrainerMaker::trl;
    if (!asked) return;
    if (!given("stack")) job.stack = stack_from(kFactoryStack).stack;
    plan.trl_makes_adapters = false;
    plan.training.max_length.reset();
    plan.training.use_reentrant = plan.training.use_reentrant.value_or(true);  // use_reentrant_gc
    if (plan.loop.kind == LoopKind::cpo && !given("loss_type")) plan.preference.contrast_loss = ContrastLoss::simpo;
    pad_rows(plan.batch, kFactoryMultiple);
}

}  // namespace vramfit::cli
