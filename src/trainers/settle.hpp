// What follows from all files together: the length of rows, masks, the number of cards, and what could be changed.
#pragma once

#include "trainers/reader.hpp"
#include "trainers/trainer_format.hpp"

namespace vramfit::trainers {

void settle(const TrainerQuestion& question, Draft& draft, Reading& reading, Problems& problems);

/// Changes that let the run need less, cheapest first.
std::vector<Proposal> propose(const TrainerKnobs& knobs, const Reading& reading);

}  // namespace vramfit::trainers
