// GRPO and RLOO: completions are sampled, rewarded and scored.
#include "vramfit/peaks/peak.hpp"

namespace vramfit::peaks {

namespace {

bool covers_generation(const Phase& phase, const RunShape&) {
    return phase.kind == PhaseKind::generation || phase.kind == PhaseKind::reward ||
           phase.kind == PhaseKind::log_probabilities;
}

}  // namespace

extern const Peak generation_entry;
const Peak generation_entry = {
    .id = "",
    .name = "generation",
    .question = "What is held while GRPO or RLOO samples completions and scores them?",
    .moment = "Completions are generated token by token with a cache of keys and values, or scored before the loss.",
    .order = 86,
    .covers = covers_generation,
};

}  // namespace vramfit::peaks
