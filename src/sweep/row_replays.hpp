// Whether rows fit: their programs, replayed under the card's capacity.
#pragma once

#include <map>
#include <span>
#include <utility>

#include "sweep/row_axes.hpp"

namespace vramfit {

class RowReplays {
  public:
    explicit RowReplays(std::span<const SweepQuestion> questions) : questions_(questions) {}

    /// Replays a row of this place in its question's space. Rows of one path share a recording.
    Verdict verdict_of(const SweepRow& row, std::size_t place);

  private:
    const ProgramTemplate& template_of(const SweepRow& row, std::size_t place);

    std::span<const SweepQuestion> questions_;
    std::map<std::pair<std::size_t, std::size_t>, ProgramTemplate> templates_;  ///< by question and path
};

}  // namespace vramfit
