// torch.optim.SGD as Trainer builds it: the foreach implementation, momentum from optim_args.
#include "engine/ops/copy.hpp"
#include "model/optimizers/shared/foreach.hpp"
#include "model/step/optimizer.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::optimizers {

using namespace model;

namespace {

// The buffers are clones of the first gradients.
void step_sgd(engine::Session& session, Optimizer& optimizer) {
    if (!session.stack.sgd_reads_optim_args() || optim_argument(optimizer.arguments, "momentum") == 0.0) return;
    const engine::Scoped<Category> fresh(session.recorder.fresh, Category::optimizer_states);
    for (std::size_t g = 0; g < optimizer.groups.size(); ++g) {
        const auto& parameters = optimizer.groups[g].parameters;
        std::vector<Tensor> grads;
        std::vector<std::size_t> owners;
        for (std::size_t i = 0; i < parameters.size(); ++i) {
            if (!(*parameters[i].tensor)->grad) continue;
            grads.push_back(parameters[i].tensor->grad());
            owners.push_back(i);
        }
        for (const auto& group : positions_by_dtype(session, grads)) {
            for (const std::size_t k : group) {
                OptimizerState& state = optimizer.states[g][owners[k]];
                if (!state.empty()) continue;
                const engine::Scoped<engine::Module> module(session.recorder.module,
                                                            session.recorder.place_of(grads[k]->storage->id));
                state.push_back(engine::clone(grads[k]));
            }
        }
    }
}

// Weight decay makes a copy of all gradients (_multi_tensor_sgd); Trainer's groups carry TrainingArguments' own.
void construct(engine::Session&, Optimizer& optimizer) {
    if (optim_argument(optimizer.arguments, "weight_decay") != 0.0)
        throw Error(ErrorKind::unsupported, "training.optim_args", "weight decay of sgd is not supported",
                    "leave weight_decay out");
}

}  // namespace

// torch 2.2 to 2.11 torch/optim/sgd.py _multi_tensor_sgd.
extern const OptimizerType sgd_entry;
const OptimizerType sgd_entry{"sgd", nullptr, construct, step_sgd};

}  // namespace vramfit::optimizers
