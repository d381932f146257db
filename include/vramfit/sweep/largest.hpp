// The largest value of one axis with which a run fits, for each combination of the other axes.
#pragma once

#include <span>
#include <vector>

#include "vramfit/sweep/sweep.hpp"

namespace vramfit {

enum class SweepAxis : std::uint8_t { rank, batch, length };

/// How it is known that no larger value of the axis fits. `bisection`: between two rows of a path whose formulas cannot
/// shrink; `scan`: every larger value was looked at; `end_of_range`: there is none.
enum class LargestHow : std::uint8_t { bisection, scan, end_of_range };

struct LargestRow {
    SweepRow row;
    LargestHow how = LargestHow::scan;
    std::size_t looked_at = 0;  ///< values of the axis
};

struct LargestAnswer {
    std::vector<LargestRow> rows;  ///< of the combinations that have one, in order of the space
    std::size_t combinations = 0;
    SweepResult result;  ///< holds the same rows, all in the ranking; `simulated` are the rows that were looked at
};

/// Larger values request more than the card has, by their formulas, or were replayed and do not fit. A row is an answer
/// only after its own replay. Throws what a sweep throws.
LargestAnswer largest(std::span<const SweepQuestion> questions, const SweepOptions& options, SweepAxis axis);

}  // namespace vramfit
