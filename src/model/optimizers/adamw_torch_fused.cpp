// torch.optim.AdamW(fused=True): one kernel for moments and weights, the step counters on the card.
#include "model/optimizers/shared/adam.hpp"
#include "model/step/optimizer.hpp"

namespace vramfit::optimizers {

using namespace model;

namespace {

// torch 2.2 optim/adamw.py and 2.11 optim/adam.py _fused_adam: no temporaries.
void step_adamw_torch_fused(engine::Session& session, Optimizer& optimizer) {
    for (std::size_t g = 0; g < optimizer.groups.size(); ++g) adam_second_moments(session, optimizer, g, true);
}

}  // namespace

extern const OptimizerType adamw_torch_fused_entry;
const OptimizerType adamw_torch_fused_entry{"adamw_torch_fused", nullptr, nullptr, step_adamw_torch_fused, false, true};

}  // namespace vramfit::optimizers
