// The backward pass of the last decoder layer: recomputation (E), then gradients (F).
#include "vramfit/peaks/peak.hpp"

namespace vramfit::peaks {

namespace {

bool covers_backward_top_layer(const Phase& phase, const RunShape& run) {
    return phase.kind == PhaseKind::backward_layer && phase.layer == run.layers - 1;
}

}  // namespace

extern const Peak backward_top_layer_entry;
const Peak backward_top_layer_entry = {
    .id = "E,F",
    .name = "backward_top_layer",
    .question = "What is held while the last decoder layer is recomputed and its gradients are computed?",
    .moment =
        "The backward pass is in the last decoder layer, and nothing that the other layers keep has been freed "
        "yet.",
    .order = 100,
    .covers = covers_backward_top_layer,
};

}  // namespace vramfit::peaks
