// Everything between the adapters and the first batch: the loop and its optimizer are built.
#include "vramfit/peaks/peak.hpp"

namespace vramfit::peaks {

namespace {

bool covers_trainer(const Phase& phase, const RunShape&) { return phase.kind == PhaseKind::trainer; }

}  // namespace

extern const Peak trainer_entry;
const Peak trainer_entry = {
    .id = "",
    .name = "trainer",
    .question = "What is held once the loop and its optimizer are built, before the first batch?",
    .moment = "The trainer and its optimizer are ready, and the first batch has not come yet.",
    .order = 40,
    .covers = covers_trainer,
};

}  // namespace vramfit::peaks
