// Rows that a card with little left may run with less than is known of them.
#pragma once

#include "vramfit/sweep/question.hpp"
#include "vramfit/trace/phase.hpp"

namespace vramfit {

/// Whether a row that requests so much, at that moment, where plenty is free may fit where only `limit` is: then it has
/// to be replayed. Unsloth cuts its loss into smaller parts there, and does without a buffer and the embedding.
bool may_fit_leaner(const SweepQuestion& question, std::size_t place, std::int64_t requested, PhaseKind at,
                    std::int64_t limit);

}  // namespace vramfit
