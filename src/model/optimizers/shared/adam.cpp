// torch 2.2 to 2.11 torch/optim/adam.py Adam._init_group.
#include "model/optimizers/shared/adam.hpp"

#include "engine/ops/copy.hpp"
#include "model/optimizers/shared/foreach.hpp"

namespace vramfit::optimizers {

using namespace model;

std::vector<Tensor> adam_second_moments(engine::Session& session, Optimizer& optimizer, std::size_t group, bool fused) {
    const engine::Scoped<Category> fresh(session.recorder.fresh, Category::optimizer_states);
    const auto& parameters = optimizer.groups[group].parameters;
    std::vector<Tensor> second;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        const Tensor& p = *parameters[i].tensor;
        if (!p->grad) continue;
        OptimizerState& state = optimizer.states[group][i];
        if (state.empty()) {
            const Tensor step =
                fused ? engine::zeros(session, {}, DType::float32) : engine::host_tensor(session, {}, DType::float32);
            state = {step, state_like(session, p)};
            state.push_back(state_like(session, p));
        }
        second.push_back(state[2]);
    }
    return second;
}

}  // namespace vramfit::optimizers
