// Preference training: the reference model, loaded and run.
#include "vramfit/peaks/peak.hpp"

namespace vramfit::peaks {

namespace {

bool covers_reference(const Phase& phase, const RunShape&) {
    return phase.kind == PhaseKind::load_reference || phase.kind == PhaseKind::precompute_reference ||
           phase.kind == PhaseKind::reference_forward || phase.kind == PhaseKind::kl_forward;
}

}  // namespace

extern const Peak reference_entry;
const Peak reference_entry = {
    .id = "",
    .name = "reference",
    .question = "What is held while the reference model of preference training is loaded and run?",
    .moment = "The reference model is loaded, or runs on the batch to score it.",
    .order = 85,
    .covers = covers_reference,
};

}  // namespace vramfit::peaks
