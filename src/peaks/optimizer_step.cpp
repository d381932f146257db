// The optimizer's step, and what it leaves.
#include "vramfit/peaks/peak.hpp"

namespace vramfit::peaks {

namespace {

bool covers_optimizer_step(const Phase& phase, const RunShape&) {
    return phase.kind == PhaseKind::optimizer || phase.kind == PhaseKind::zero_grad ||
           phase.kind == PhaseKind::train_end;
}

}  // namespace

extern const Peak optimizer_step_entry;
const Peak optimizer_step_entry = {
    .id = "",
    .name = "optimizer_step",
    .question = "What is held while the optimizer updates the weights, and until the gradients are dropped?",
    .moment = "The optimizer updates the weights, with all gradients and its own states in memory.",
    .order = 150,
    .covers = covers_optimizer_step,
};

}  // namespace vramfit::peaks
