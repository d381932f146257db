// torch.optim.RMSprop as Trainer builds it: the foreach implementation, momentum and centring from optim_args.
#include "engine/ops/copy.hpp"
#include "model/optimizers/shared/foreach.hpp"
#include "model/step/optimizer.hpp"

namespace vramfit::optimizers {

using namespace model;

namespace {

bool is_centred(const std::string& arguments) {
    for (const char* yes : {"centered=true", "centered=True", "centered=1", "centered=yes"})
        if (("," + arguments).find(std::string(",") + yes) != std::string::npos) return true;
    return false;
}

// RMSprop._init_group: square_avg, momentum_buffer, grad_avg.
void init_rmsprop(engine::Session& session, Optimizer& optimizer, std::size_t group) {
    const engine::Scoped<Category> fresh(session.recorder.fresh, Category::optimizer_states);
    const bool arguments = session.stack.sgd_reads_optim_args();
    const int states = 1 + (arguments && optim_argument(optimizer.arguments, "momentum") > 0.0 ? 1 : 0) +
                       (arguments && is_centred(optimizer.arguments) ? 1 : 0);
    const auto& parameters = optimizer.groups[group].parameters;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        const Tensor& p = *parameters[i].tensor;
        OptimizerState& state = optimizer.states[group][i];
        if (!p->grad || !state.empty()) continue;
        for (int k = 0; k < states; ++k) state.push_back(state_like(session, p));
    }
}

// _multi_tensor_rmsprop: `avg` is the only temporary, but for gradients that decay.
void step_rmsprop(engine::Session& session, Optimizer& optimizer) {
    for (std::size_t g = 0; g < optimizer.groups.size(); ++g) {
        init_rmsprop(session, optimizer, g);
        TensorList avg, grads;
        for (const GroupedTensors& one : grouped(session, optimizer, g)) {
            grads.clear();
            grads = decayed(optimizer, g, one.grads);
            TensorList squares;
            for (const OptimizerState* state : one.states) squares.push_back(state->front());
            avg = foreach_result(squares, engine::Op::foreach_sqrt);
        }
    }
}

}  // namespace

// torch 2.2 to 2.11 torch/optim/rmsprop.py.
extern const OptimizerType rmsprop_entry;
const OptimizerType rmsprop_entry{"rmsprop", nullptr, nullptr, step_rmsprop};

}  // namespace vramfit::optimizers
