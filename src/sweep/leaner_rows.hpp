// Rows that a card with little left may run with less than is known of them.
#pragma once

#include <span>

#include "vramfit/base/note.hpp"
#include "vramfit/sweep/question.hpp"
#include "vramfit/sweep/sweep.hpp"
#include "vramfit/trace/phase.hpp"

namespace vramfit {

/// Whether a row may fit where only `limit` is free, though it requests more where plenty is: then it has to be
/// replayed. Unsloth cuts its loss into smaller parts there, and does without a buffer and the embedding.
/// beside_loss -- what it requests at least outside of the loss; 0: it is not known.
bool may_fit_leaner(const SweepQuestion& question, std::size_t place, std::int64_t beside_loss, std::int64_t limit);

/// Whether any row has to be, for all that its question says.
bool asks_for_memory(const SweepQuestion& question);

}  // namespace vramfit
