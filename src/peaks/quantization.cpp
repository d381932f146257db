// Loading a quantized network: the 16-bit original and its packed or upcast copy alive together.
#include "vramfit/peaks/peak.hpp"

namespace vramfit::peaks {

namespace {

bool covers_quantization(const Phase& phase, const RunShape& run) {
    if (phase.kind == PhaseKind::prepare) return true;
    return run.quantized && (phase.kind == PhaseKind::start || phase.kind == PhaseKind::load);
}

}  // namespace

extern const Peak quantization_entry;
const Peak quantization_entry = {
    .id = "A",
    .name = "quantization",
    .question = "What is held while weights are quantized, or upcast by the preparation, and both copies are alive?",
    .moment =
        "The weights are being quantized, or turned into float32 by peft's preparation, and old and new copies "
        "are both there.",
    .order = 20,
    .covers = covers_quantization,
};

}  // namespace vramfit::peaks
