// Everything between two steps while the network is evaluated.
#include "vramfit/peaks/peak.hpp"

namespace vramfit::peaks {

namespace {

bool covers_evaluation(const Phase& phase, const RunShape&) { return phase.evaluation >= 0; }

}  // namespace

extern const Peak evaluation_entry;
const Peak evaluation_entry = {
    .id = "",
    .name = "evaluation",
    .question = "What is held while a batch is evaluated during training?",
    .moment = "A batch is being evaluated during training.",
    .order = 160,
    .covers = covers_evaluation,
};

}  // namespace vramfit::peaks
