// The forward pass inside the last decoder layer, when all layers' activations are kept.
#include "vramfit/peaks/peak.hpp"

namespace vramfit::peaks {

namespace {

bool covers_forward_top_layer(const Phase& phase, const RunShape& run) {
    return phase.kind == PhaseKind::forward_layer && phase.layer == run.layers - 1 && phase.evaluation < 0;
}

}  // namespace

extern const Peak forward_top_layer_entry;
const Peak forward_top_layer_entry = {
    .id = "B",
    .name = "forward_top_layer",
    .question = "What is held inside the last decoder layer of the forward pass?",
    .moment = "The forward pass is in the last decoder layer, with what all layers keep for the backward pass.",
    .order = 70,
    .covers = covers_forward_top_layer,
};

}  // namespace vramfit::peaks
