// Clipping: the norm of all gradients.
#include "vramfit/peaks/peak.hpp"

namespace vramfit::peaks {

namespace {

bool covers_clip(const Phase& phase, const RunShape&) { return phase.kind == PhaseKind::clip; }

}  // namespace

extern const Peak clip_entry;
const Peak clip_entry = {
    .id = "",
    .name = "clip",
    .question = "What is held while the norm of the gradients is computed and they are scaled?",
    .moment = "The gradients are being clipped: their norm is computed and they are scaled.",
    .order = 140,
    .covers = covers_clip,
};

}  // namespace vramfit::peaks
