// torch.optim.AdamW as Trainer builds it: the foreach implementation, which torch chooses for all parameters on a card.
#include "model/optimizers/shared/adam.hpp"
#include "model/step/optimizer.hpp"

namespace vramfit::optimizers {

using namespace model;

namespace {

// torch 2.11 optim/adam.py _single_tensor_adam: `denom` lives until that of the next parameter is made.
void step_one_by_one(engine::Session& session, const std::vector<engine::Tensor>& second) {
    engine::Tensor denominator;
    for (const engine::Tensor& t : second) {
        const auto like = [&](engine::Op op) {
            return engine::empty_strided(session, t.sizes(), t.strides(), t.dtype(), op);
        };
        const engine::Tensor root = like(engine::Op::sqrt);
        denominator = like(engine::Op::div);
    }
}

// torch 2.2 optim/adamw.py and 2.11 optim/adam.py _multi_tensor_adam: exp_avg_sq_sqrt is the only temporary. The
// square roots of one dtype live until those of the next are made.
void step_adamw_torch(engine::Session& session, Optimizer& optimizer) {
    for (std::size_t g = 0; g < optimizer.groups.size(); ++g) {
        const std::vector<Tensor> second = adam_second_moments(session, optimizer, g, false);
        if (optimizer.one_by_one) {
            step_one_by_one(session, second);
            continue;
        }
        std::vector<Tensor> roots;
        for (const auto& group : positions_by_dtype(session, second)) {
            std::vector<Tensor> next;
            for (const std::size_t i : group) {
                const Tensor& t = second[i];
                next.push_back(
                    engine::empty_strided(session, t.sizes(), t.strides(), t.dtype(), engine::Op::foreach_sqrt));
            }
            roots = std::move(next);
        }
    }
}

}  // namespace

extern const OptimizerType adamw_torch_entry;
const OptimizerType adamw_torch_entry{"adamw_torch", nullptr, nullptr, step_adamw_torch};

}  // namespace vramfit::optimizers
