// deepspeed 0.19.8 ops/adam/fused_adam.py, ops/lion/fused_lion.py, runtime/engine.py _configure_basic_optimizer.
#include "model/parallel/zero/flat_optimizer.hpp"

#include <utility>

#include "engine/ops/copy.hpp"
#include "engine/session.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// FusedAdam: exp_avg and exp_avg_sq; FusedLion: exp_avg.
std::size_t moments_of(const ZeroPlan& zero) {
    if (!zero.own_optimizer || zero.optimizer == ZeroOptimizer::torch_adamw) return 0;
    return zero.optimizer == ZeroOptimizer::lion ? 1 : 2;
}

}  // namespace

FlatOptimizer::FlatOptimizer(const Run& run, Network& network) : moments_(moments_of(*zero_of(run.plan))) {
    Session& session = run.session;
    const ZeroPlan& zero = *zero_of(run.plan);
    const Scoped<Category> fresh(session.recorder.fresh, Category::optimizer_states);
    if (zero.own_optimizer && moments_ == 0) {
        optimizer_.type = &optimizer_of("adamw_torch");
        optimizer_.groups.push_back({trainable_parameters(network), true});
    } else if (zero.own_optimizer) {
        optimizer_.groups.push_back({trainable_parameters(network), true});
        if (!zero.offload_optimizer) overflow_buffer_ = to_device(host_tensor(session, {1}, DType::int32));
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

// DeepSpeedZeroOptimizer._optimizer_step: param_groups holds this one alone.
Optimizer FlatOptimizer::over(std::size_t partition) {
    NamedParameter flat;
    flat.tensor = &partitions_[partition];
    Optimizer one;
    one.type = optimizer_.type;
    one.arguments = optimizer_.arguments;
    one.groups.push_back(optimizer_.groups[group_of_[partition]]);
    one.groups[0].parameters = {flat};
    one.states.emplace_back();
    one.states[0].push_back(std::move(states_[partition]));
    return one;
}

void FlatOptimizer::step(Session& session, std::size_t partition) {
    const Scoped<Category> fresh(session.recorder.fresh,
                                 moments_ > 0 ? Category::optimizer_states : Category::temporaries);
    if (moments_ > 0) {
        const Scoped<Module> module(session.recorder.module,
                                    session.recorder.place_of(partitions_[partition]->storage->id));
        OptimizerState& state = states_[partition];
        while (state.size() < moments_) state.push_back(zeros_like(partitions_[partition]));
        return;
    }
    Optimizer one = over(partition);
    one.shared = std::move(optimizer_.shared);
    if (one.type->step) one.type->step(session, one);
    states_[partition] = std::move(one.states[0][0]);
    optimizer_.shared = std::move(one.shared);
}

}  // namespace vramfit::model
