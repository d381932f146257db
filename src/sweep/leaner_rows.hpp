// Rows that a card with little left may run with less than is known of them.
#pragma once

#include <span>

#include "vramfit/base/note.hpp"
#include "vramfit/sweep/question.hpp"
#include "vramfit/sweep/sweep.hpp"
#include "vramfit/trace/phase.hpp"

namespace vramfit {

/// Whether a row that requests so much, at that moment, where plenty is free may fit where only `limit` is: then it has
/// to be replayed. Unsloth cuts its loss into smaller parts there, and does without a buffer and the embedding.
bool may_fit_leaner(const SweepQuestion& question, std::size_t place, std::int64_t requested, PhaseKind at,
                    std::int64_t limit);

/// Whether any row has to be, for all that its question says.
bool asks_for_memory(const SweepQuestion& question);

/// What such rows request is said of a card with plenty.
void note_leaner(std::span<const SweepRow* const> rows, Notes& notes);

}  // namespace vramfit
