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
        if (!zero_of(run.plan)->offload_optimizer)
            overflow_buffer_ = to_device(host_tensor(session, {1}, DType::int32));
    } else {
        optimizer_ = make_optimizer(session, run.plan.training, decay_groups(run, network));
        std::erase_if(optimizer_.groups, [](const ParameterGroup& g) { return g.parameters.empty(); });
    }
}

void FlatOptimizer::take(const std::vector<Tensor>& partitions, const std::vector<std::size_t>& groups) {
    partitions_ = partitions;
    group_of_ = groups;
    states_.resize(partitions.size());
    for (ParameterGroup& group : optimizer_.groups) group.parameters.clear();
}

void FlatOptimizer::step(Session& session, std::size_t partition) {
    const Scoped<Category> fresh(session.recorder.fresh, Category::optimizer_states);
    OptimizerState& state = states_[partition];
    if (own_) {
        for (int moment = 0; state.size() < 2 && moment < 2; ++moment)
            state.push_back(zeros_like(partitions_[partition]));
        return;
    }
    // DeepSpeedZeroOptimizer._optimizer_step: param_groups holds this one alone.
    NamedParameter flat;
    flat.tensor = &partitions_[partition];
    Optimizer one;
    one.type = optimizer_.type;
    one.arguments = optimizer_.arguments;
    one.groups.push_back(optimizer_.groups[group_of_[partition]]);
    one.groups[0].parameters = {flat};
    one.states.emplace_back();
    one.states[0].push_back(std::move(state));
    one.shared = std::move(optimizer_.shared);
    if (one.type->step) one.type->step(session, one);
    state = std::move(one.states[0][0]);
    optimizer_.shared = std::move(one.shared);
}

}  // namespace vramfit::model
