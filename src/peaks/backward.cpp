// The backward pass of the decoder layers between the last one and the first.
#include "vramfit/peaks/peak.hpp"

namespace vramfit::peaks {

namespace {

bool covers_backward(const Phase& phase, const RunShape& run) {
    return phase.kind == PhaseKind::backward_layer && phase.layer > 0 && phase.layer < run.layers - 1;
}

}  // namespace

extern const Peak backward_entry;
const Peak backward_entry = {
    .id = "",
    .name = "backward",
    .question = "What is held in the backward pass of the layers between the last one and the first?",
    .moment = "The backward pass is in a decoder layer between the last one and the first.",
    .order = 110,
    .covers = covers_backward,
};

}  // namespace vramfit::peaks
