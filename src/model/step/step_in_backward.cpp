// torchtune 0.6 training/memory.py register_optim_in_bwd_hooks and create_optim_in_bwd_wrapper.
#include "model/step/step_in_backward.hpp"

namespace vramfit::model {

using namespace engine;

StepInBackward::StepInBackward(const Run& run, Network& network) : session_(run.session) {
    for (const NamedParameter& p : trainable_parameters(network)) {
        const ParameterGroup alone{{p}, true};
        optimizers_.emplace(p.tensor->get(), make_optimizer(session_, run.plan.training, {alone}));
    }
    session_.after_accumulate = [this](const Tensor& leaf) { update(leaf); };
}

StepInBackward::~StepInBackward() { session_.after_accumulate = nullptr; }

// optim_step: the hook runs in the backward pass, without gradients.
void StepInBackward::update(const Tensor& leaf) {
    const auto found = optimizers_.find(leaf.get());
    if (found == optimizers_.end()) return;
    Optimizer& optimizer = found->second;
    const Scoped<Thread> thread(session_.thread, Thread::autograd);
    const GradMode no_grad(session_, false);
    if (optimizer.type->step) optimizer.type->step(session_, optimizer);
    zero_grad(optimizer);
}

}  // namespace vramfit::model
