// torch.optim.SGD as Trainer builds it: the foreach implementation, momentum from optim_args.
#include "engine/ops/copy.hpp"
#include "model/optimizers/shared/foreach.hpp"
#include "model/step/optimizer.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::optimizers {

using namespace model;

namespace {

// The buffers are clones of the first gradients; lists of one dtype live until those of the next are made.
void step_sgd(engine::Session& session, Optimizer& optimizer) {
    const bool has_momentum =
        session.stack.sgd_reads_optim_args() && optim_argument(optimizer.arguments, "momentum") != 0.0;
    for (std::size_t g = 0; g < optimizer.groups.size(); ++g) {
        TensorList grads;
        for (const GroupedTensors& one : grouped(session, optimizer, g)) {
            grads.clear();
            grads = decayed(optimizer, g, one.grads);
            const engine::Scoped<Category> fresh(session.recorder.fresh, Category::optimizer_states);
            for (std::size_t k = 0; has_momentum && k < grads.size(); ++k) {
                if (!one.states[k]->empty()) continue;
                const engine::Scoped<engine::Module> module(session.recorder.module,
                                                            session.recorder.place_of(one.grads[k]->storage->id));
                one.states[k]->push_back(engine::clone(grads[k]));
            }
        }
    }
}

// Trainer's groups carry TrainingArguments' own weight decay.
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
