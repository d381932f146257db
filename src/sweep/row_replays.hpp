// What the allocator makes of rows: their programs, replayed under the card's capacity.
#pragma once

#include <map>
#include <span>
#include <utility>
#include <vector>

#include "sweep/row_axes.hpp"

namespace vramfit {

class RowReplays {
  public:
    explicit RowReplays(std::span<const SweepQuestion> questions);

    /// Replays a row of this place in its question's space: its verdict and, if it fits, the levels of its highest
    /// peak. Rows of one path share a recording.
    void settle(SweepRow& row, std::size_t place);

  private:
    const ProgramTemplate& template_of(const SweepRow& row, std::size_t place);

    std::span<const SweepQuestion> questions_;
    std::vector<RowAxes> axes_;                                                 ///< by question
    std::map<std::pair<std::size_t, std::size_t>, ProgramTemplate> templates_;  ///< by question and path
};

/// Writes the highest peak of a run into its row; nullptr: the run has none.
void show_peak(SweepRow& row, const PeakResult* highest);

}  // namespace vramfit
