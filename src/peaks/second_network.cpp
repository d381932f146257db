// A second network: a reward model or a teacher, placed and run.
#include "vramfit/peaks/peak.hpp"

namespace vramfit::peaks {

namespace {

bool covers_second(const Phase& phase, const RunShape&) {
    return phase.kind == PhaseKind::load_reward || phase.kind == PhaseKind::load_teacher ||
           phase.kind == PhaseKind::teacher_forward;
}

}  // namespace

extern const Peak second_network_entry;
const Peak second_network_entry = {
    .id = "",
    .name = "second_network",
    .question = "What is held while a reward model or a teacher comes onto the card, or the teacher runs?",
    .moment = "A network beside the one that is trained is placed on the card, or the teacher runs on the batch.",
    .order = 87,
    .covers = covers_second,
};

}  // namespace vramfit::peaks
