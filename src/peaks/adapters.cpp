// Putting the adapters on the network.
#include "vramfit/peaks/peak.hpp"

namespace vramfit::peaks {

namespace {

bool covers_adapters(const Phase& phase, const RunShape&) { return phase.kind == PhaseKind::adapters; }

}  // namespace

extern const Peak adapters_entry;
const Peak adapters_entry = {
    .id = "",
    .name = "adapters",
    .question = "What is held while the adapters are made, moved and cast?",
    .moment = "The adapters are being created and moved to the GPU.",
    .order = 30,
    .covers = covers_adapters,
};

}  // namespace vramfit::peaks
