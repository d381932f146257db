// The backward pass of the first decoder layer: recomputation (G), then gradients (H).
#include "vramfit/peaks/peak.hpp"

namespace vramfit::peaks {

namespace {

bool covers_backward_bottom_layer(const Phase& phase, const RunShape&) {
    return phase.kind == PhaseKind::backward_layer && phase.layer == 0;
}

}  // namespace

extern const Peak backward_bottom_layer_entry;
const Peak backward_bottom_layer_entry = {
    .id = "G,H",
    .name = "backward_bottom_layer",
    .question = "What is held while the first decoder layer is recomputed and its gradients are computed?",
    .moment = "The backward pass is in the first decoder layer, and the gradients of all layers above it are there.",
    .order = 120,
    .covers = covers_backward_bottom_layer,
};

}  // namespace vramfit::peaks
