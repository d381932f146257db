// Rows of which only an upper bound is known to be too large.
#pragma once

#include <span>

#include "vramfit/base/note.hpp"
#include "vramfit/spec/train_plan.hpp"
#include "vramfit/sweep/sweep.hpp"

namespace vramfit {

/// Whether what a run needs at that moment is an upper bound: of Unsloth's loss, which is computed in smaller parts
/// where less is free (docs/unsloth.md).
bool is_bounded(const TrainPlan& plan, PhaseKind at);

/// Says that such rows were left out.
Note note_of_bounds();

}  // namespace vramfit
