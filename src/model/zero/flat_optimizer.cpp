// deepspeed 0.19.8 ops/adam/fused_adam.py, runtime/engine.py _configure_basic_optimizer.
#include "model/zero/flat_optimizer.hpp"

#include <utility>

#include "engine/ops/copy.hpp"
#include "engine/session.hpp"

namespace vramfit::model {

using namespace engine;

FlatOptimizer::FlatOptimizer(const Run& run, Network& network) : own_(zero_of(run.plan)->own_optimizer) {
    Session& session = run.session;
    const Scoped<Category> fresh(session.recorder.fresh, Category::optimizer_states);
    if (own_) {
        optimizer_.groups.push_back({trainable_parameters(network), true});
        optimizer_.states.emplace_back(1);
        if (!zero_of(run.plan)->offload_optimizer)
            overflow_buffer_ = to_device(host_tensor(session, {1}, DType::int32));
    } else {
        optimizer_ = make_optimizer(session, run.plan.training, decay_groups(run, network));
        std::erase_if(optimizer_.groups, [](const ParameterGroup& g) { return g.parameters.empty(); });
        optimizer_.states.assign(optimizer_.groups.size(), std::vector<OptimizerState>(1));
    }
    partitions_.resize(optimizer_.groups.size());
}

void FlatOptimizer::take(std::size_t group, const Tensor& partition) {
    partitions_[group] = partition;
    NamedParameter flat;
    flat.tensor = &partitions_[group];
    optimizer_.groups[group].parameters = {flat};
}

void FlatOptimizer::step(Session& session, std::size_t group) {
    const Scoped<Category> fresh(session.recorder.fresh, Category::optimizer_states);
    if (own_) {
        OptimizerState& state = optimizer_.states[group][0];
        for (int moment = 0; state.size() < 2 && moment < 2; ++moment) state.push_back(zeros_like(partitions_[group]));
        return;
    }
    // DeepSpeedZeroOptimizer._optimizer_step: param_groups holds this one alone.
    Optimizer one;
    one.type = optimizer_.type;
    one.arguments = optimizer_.arguments;
    one.groups.push_back(optimizer_.groups[group]);
    one.states.push_back(std::move(optimizer_.states[group]));
    if (one.type->step) one.type->step(session, one);
    optimizer_.states[group] = std::move(one.states[0]);
}

}  // namespace vramfit::model
