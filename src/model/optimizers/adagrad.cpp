// torch.optim.Adagrad as Trainer builds it: the foreach implementation, states made with the optimizer.
#include "engine/session.hpp"
#include "model/optimizers/shared/foreach.hpp"
#include "model/step/optimizer.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::optimizers {

using namespace model;

namespace {

// Adagrad.__init__: a step in host memory and torch.full_like for each parameter.
void construct_adagrad(engine::Session& session, Optimizer& optimizer) {
    const engine::Scoped<Category> fresh(session.recorder.fresh, Category::optimizer_states);
    for (std::size_t g = 0; g < optimizer.groups.size(); ++g)
        for (std::size_t i = 0; i < optimizer.groups[g].parameters.size(); ++i) {
            OptimizerState& state = optimizer.states[g][i];
            state.push_back(engine::host_tensor(session, {}, DType::float32));
            state.push_back(state_like(session, *optimizer.groups[g].parameters[i].tensor));
        }
}

/// torch.optim.optimizer _group_tensors_by_device_and_dtype. FSDP1's parameters are still in 16 bits when the optimizer
/// is made, their gradients are not.
void refuse_other_dtypes(const GroupedTensors& one) {
    for (std::size_t i = 0; i < one.grads.size(); ++i)
        if (one.states[i]->back().dtype() != one.grads[i].dtype())
            throw Error(ErrorKind::invalid, "training.optim",
                        "adagrad: torch stops: Tensors of the same index must be on the same device and the same dtype "
                        "(its states have the dtype of the weights that were loaded)",
                        "load in float32 (load.dtype), or another optimizer");
}

// _multi_tensor_adagrad: lists of one dtype live until those of the next are made.
void step_adagrad(engine::Session& session, Optimizer& optimizer) {
    for (std::size_t g = 0; g < optimizer.groups.size(); ++g) {
        TensorList std, numerator, grads;
        for (const GroupedTensors& one : grouped(session, optimizer, g)) {
            refuse_other_dtypes(one);
            // _get_value of the steps, which accelerate has moved.
            if (!is_on_host(one.states.front()->front())) session.streams.host_waits(0);
            grads.clear();
            grads = decayed(optimizer, g, one.grads);
            TensorList sums;
            for (const OptimizerState* state : one.states) sums.push_back(state->back());
            std = foreach_result(sums, engine::Op::foreach_sqrt);
            // The copies of gradients that decay are multiplied in place.
            numerator = grads.front() == one.grads.front() ? foreach_result(grads, engine::Op::foreach_mul) : grads;
        }
    }
}

}  // namespace

// torch 2.2 to 2.11 torch/optim/adagrad.py.
extern const OptimizerType adagrad_entry;
const OptimizerType adagrad_entry{"adagrad", nullptr, construct_adagrad, step_adagrad};

}  // namespace vramfit::optimizers
