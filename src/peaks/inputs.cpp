// The batch on its way to the card.
#include "vramfit/peaks/peak.hpp"

namespace vramfit::peaks {

namespace {

bool covers_inputs(const Phase& phase, const RunShape&) {
    return (phase.kind == PhaseKind::inputs && phase.evaluation < 0) || phase.kind == PhaseKind::batch;
}

}  // namespace

extern const Peak inputs_entry;
const Peak inputs_entry = {
    .id = "",
    .name = "inputs",
    .question = "What is held while a batch is moved to the GPU?",
    .moment = "A batch is being moved to the GPU.",
    .order = 50,
    .covers = covers_inputs,
};

}  // namespace vramfit::peaks
