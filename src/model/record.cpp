// The order of a run: load, prepare, adapters, loop.
#include "model/record.hpp"

#include "model/adapters.hpp"
#include "model/load.hpp"
#include "model/loops.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

void choose_checkpointing(const TrainPlan& plan, const Stack& stack, Network& network) {
    if (!plan.training.gradient_checkpointing) return;
    const bool reentrant = plan.training.use_reentrant.value_or(stack.checkpointing_is_reentrant());
    network.checkpointing = reentrant ? Checkpointing::reentrant : Checkpointing::non_reentrant;
    network.input_requires_grad = true;
}

void count_parameters(Network& network, Program& program) {
    for (const NamedParameter& p : named_parameters(network)) {
        program.total_parameters += p.tensor->numel();
        if (p.tensor->requires_grad()) program.trainable_parameters += p.tensor->numel();
    }
}

void run_all(const Run& run) {
    Session& session = run.session;
    const TrainPlan& plan = run.plan;
    const Stack& stack = run.stack;
    session.recorder.begin({PhaseKind::load});
    Network network = load(run);
    for (const NamedParameter& p : named_parameters(network)) p.tensor->set_requires_grad(true);
    session.recorder.mark("after_load");
    if (plan.peft) {
        session.recorder.begin({PhaseKind::adapters});
        add_adapters(session, network, *plan.peft);
    }
    session.recorder.mark("after_adapter");
    choose_checkpointing(plan, stack, network);
    count_parameters(network, session.recorder.program());
    if (plan.loop.kind == LoopKind::plain)
        run_plain(run, network);
    else
        run_trainer(run, network);
}

}  // namespace

Program record(const ModelSpec& spec, const TrainPlan& plan, const Stack& stack, const Device& device) {
    Session session(stack, device);
    run_all({session, spec, plan, stack});
    return session.recorder.take();
}

Summary summarize(const ModelSpec& spec, const TrainPlan& plan, const Stack& stack, const Device& device) {
    Session session(stack, device, Keep::summary);
    run_all({session, spec, plan, stack});
    return session.recorder.summary();
}

}  // namespace vramfit::model
