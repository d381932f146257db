// torch.optim.Adagrad as Trainer builds it: the foreach implementation, states made with the optimizer.
#include "engine/session.hpp"
#include "model/optimizer.hpp"
#include "model/optimizers/shared/foreach.hpp"

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

// _multi_tensor_adagrad: lists of one dtype live until those of the next are made.
void step_adagrad(engine::Session& session, Optimizer& optimizer) {
    for (std::size_t g = 0; g < optimizer.groups.size(); ++g) {
        TensorList std, numerator;
        for (const GroupedTensors& one : grouped(session, optimizer, g)) {
            TensorList sums;
            for (const OptimizerState* state : one.states) sums.push_back(state->back());
            std = foreach_result(sums, engine::Op::foreach_sqrt);
            numerator = foreach_result(one.grads, engine::Op::foreach_mul);
        }
    }
}

}  // namespace

// torch 2.2 to 2.11 torch/optim/adagrad.py.
extern const OptimizerType adagrad_entry;
const OptimizerType adagrad_entry{"adagrad", nullptr, construct_adagrad, step_adagrad};

}  // namespace vramfit::optimizers
