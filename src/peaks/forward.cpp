// The forward pass below the last decoder layer: embedding, masks, rotary tables, lower layers.
#include "vramfit/peaks/peak.hpp"

namespace vramfit::peaks {

namespace {

bool covers_forward(const Phase& phase, const RunShape& run) {
    if (phase.evaluation >= 0) return false;
    if (phase.kind == PhaseKind::embedding) return true;
    return phase.kind == PhaseKind::forward_layer && phase.layer != run.layers - 1;
}

}  // namespace

extern const Peak forward_entry;
const Peak forward_entry = {
    .id = "",
    .name = "forward",
    .question = "What is held in the embedding and in the decoder layers below the last one?",
    .moment = "The forward pass is in the embedding or in a decoder layer below the last one.",
    .order = 60,
    .covers = covers_forward,
};

}  // namespace vramfit::peaks
