// The verdict over all that is not known: what a run needs beside both ends of what a card has.
#pragma once

#include <optional>

#include "vramfit/alloc/replay.hpp"
#include "vramfit/predict/prediction.hpp"
#include "vramfit/trace/program.hpp"

namespace vramfit {

/// A program on a card: the replay there, one on a card that is large enough, and both ends over what is not known.
struct Judged {
    Timeline on_card;
    std::optional<Timeline> unlimited;  ///< where that one ran out of memory
    std::optional<Program> program;     ///< where the run on the card is another than on one with plenty of memory
    Assumptions assumptions;
    VerdictEnds ends;

    /// Of the whole run.
    const Timeline& whole() const { return unlimited ? *unlimited : on_card; }

    /// The run on the card, given that on one with plenty.
    const Program& of_card(const Program& with_plenty) const { return program ? *program : with_plenty; }
};

/// `on_card` is the replay there, with allocator_of(stack, device); `device` is that of one process (of_process).
Judged judge_program(const Program& program, const ModelSpec& model, const TrainPlan& plan, const Stack& stack,
                     const Device& device, Timeline on_card);

/// The same with that replay.
Judged judge_program(const Program& program, const ModelSpec& model, const TrainPlan& plan, const Stack& stack,
                     const Device& device);

/// The same of Unsloth's loop on a card that it asks (asks_card), with its own program. Begins with what a run much
/// like it decided, and says what this one decides.
Judged judge_from(UnslothOnCard& guess, const ModelSpec& model, const TrainPlan& plan, const Stack& stack,
                  const Device& device);

/// Whether a run fits at both ends.
struct SureRun {
    bool fits = false;
    Timeline run;  ///< on the card; where it does not fit, one that ran out of memory or does not surely fit
};

/// Whether judge_program's verdict is that it fits, with fewer replays: the worst end is replayed first, as most that
/// is tried does not fit there, or does there what it does everywhere.
SureRun surely_fits(const Program& program, const ModelSpec& model, const TrainPlan& plan, const Stack& stack,
                    const Device& device);

}  // namespace vramfit
