// torch.optim.AdamW with foreach (torch 2.2 to 2.11 torch/optim/adam.py, adamw.py: _init_group, _multi_tensor_adam).
#include "model/optimizers/adamw_torch.hpp"

#include <map>

#include "engine/ops/copy.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

Tensor state_like(const Tensor& parameter) {
    Tensor t = zeros_like(parameter);
    label(t, Category::optimizer_states);
    return t;
}

void step(Session& session, Optimizer& optimizer) {
    for (std::size_t g = 0; g < optimizer.groups.size(); ++g) {
        const ParameterGroup& group = optimizer.groups[g];
        std::vector<Tensor> second;
        for (std::size_t i = 0; i < group.parameters.size(); ++i) {
            const Tensor& p = *group.parameters[i].tensor;
            if (!p->grad) continue;
            OptimizerState& state = optimizer.states[g][i];
            if (state.empty()) {
                state.push_back(state_like(p));
                state.push_back(state_like(p));
            }
            second.push_back(state[1]);
        }
        // _group_tensors_by_device_and_dtype: one pass for each dtype; the square roots of a pass live together.
        std::map<DType, std::vector<Tensor>> by_dtype;
        for (const Tensor& t : second) by_dtype[t.dtype()].push_back(t);
        for (const auto& [dtype, tensors] : by_dtype) {
            std::vector<Tensor> roots;
            for (const Tensor& t : tensors)
                roots.push_back(empty_strided(session, t.sizes(), t.strides(), t.dtype(), Op::foreach_sqrt));
        }
    }
}

}  // namespace

const OptimizerType kAdamwTorch{"adamw_torch", nullptr, step};

}  // namespace vramfit::model
