// What torch's foreach optimizers have in common.
#pragma once

#include <functional>
#include <vector>

#include "model/step/optimizer.hpp"

namespace vramfit::optimizers {

/// Tensors of one device and dtype.
using TensorList = std::vector<model::Tensor>;

/// The parameters of a group that have a gradient, with their states.
struct GroupedTensors {
    TensorList parameters;
    TensorList grads;
    std::vector<model::OptimizerState*> states;
};

/// torch/optim/optimizer.py _group_tensors_by_device_and_dtype of a parameter group.
std::vector<GroupedTensors> grouped(const engine::Session& session, model::Optimizer& optimizer, std::size_t group);

/// A foreach operator that is not in place: a result like each tensor.
TensorList foreach_result(const TensorList& tensors, engine::Op op);

/// What an optimizer whose weight decay is part of the gradient steps with: torch._foreach_add(grads, params, alpha=…)
/// of a group that decays, else the gradients.
TensorList decayed(const model::Optimizer& optimizer, std::size_t group, const TensorList& grads);

/// torch.zeros_like(p, memory_format=torch.preserve_format) as an optimizer's state.
model::Tensor state_like(engine::Session& session, const model::Tensor& p);

/// The number of `key` in "momentum=0.9,nesterov=true" (transformers trainer_optimizer.py _parse_optim_args); 0
/// without.
double optim_argument(const std::string& arguments, const std::string& key);

}  // namespace vramfit::optimizers
