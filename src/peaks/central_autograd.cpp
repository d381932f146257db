// The beginning of the backward pass: the loss and the head.
#include "vramfit/peaks/peak.hpp"

namespace vramfit::peaks {

namespace {

bool covers_central_autograd(const Phase& phase, const RunShape&) { return phase.kind == PhaseKind::backward_loss; }

}  // namespace

extern const Peak central_autograd_entry;
const Peak central_autograd_entry = {
    .id = "D",
    .name = "central_autograd",
    .question = "What is held while the gradients of the loss and of the head are computed?",
    .moment = "The backward pass begins: the gradients of the logits are computed, as large as the logits themselves.",
    .order = 90,
    .covers = covers_central_autograd,
};

}  // namespace vramfit::peaks
