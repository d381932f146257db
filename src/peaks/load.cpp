// Loading: the checkpoint's tensors on their way to the card.
#include "vramfit/peaks/peak.hpp"

namespace vramfit::peaks {

namespace {

bool covers_load(const Phase& phase, const RunShape& run) {
    return !run.quantized && (phase.kind == PhaseKind::start || phase.kind == PhaseKind::load);
}

}  // namespace

extern const Peak load_entry;
const Peak load_entry = {
    .id = "",
    .name = "load",
    .question = "What is held while the checkpoint is loaded without quantization?",
    .moment = "The weights are being loaded onto the GPU.",
    .order = 10,
    .covers = covers_load,
};

}  // namespace vramfit::peaks
