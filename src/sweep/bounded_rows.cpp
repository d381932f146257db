// unsloth_zoo 2026.10.7 fused_losses/cross_entropy_loss.py: parts by what is free when the first loss is computed.
#include "sweep/bounded_rows.hpp"

namespace vramfit {

bool is_bounded(const TrainPlan& plan, PhaseKind at) {
    return plan.loop.kind == LoopKind::unsloth && at == PhaseKind::head;
}

Note note_of_bounds() {
    return {NoteKind::upper_bound,
            "some rows are left out by an upper bound alone: where 8 GiB or less are free when the first loss is "
            "computed Unsloth takes smaller parts of it than predicted",
            "vramfit predict says of a row what is free then"};
}

}  // namespace vramfit
