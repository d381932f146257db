// The end of the forward pass: final norm, logits, the loss's forward tensors.
#include "vramfit/peaks/peak.hpp"

namespace vramfit::peaks {

namespace {

bool covers_central_activations(const Phase& phase, const RunShape&) {
    return (phase.kind == PhaseKind::head || phase.kind == PhaseKind::loss) && phase.evaluation < 0;
}

}  // namespace

extern const Peak central_activations_entry;
const Peak central_activations_entry = {
    .id = "C",
    .name = "central_activations",
    .question = "What is held when the logits and the loss are computed?",
    .moment =
        "The forward pass ends: the logits (a score for each token and each word of the vocabulary) and the loss "
        "are computed.",
    .order = 80,
    .covers = covers_central_activations,
};

}  // namespace vramfit::peaks
