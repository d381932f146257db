// Whether what a run requests can only grow between two rows of one path: the proof behind bisection.
#pragma once

#include <span>
#include <vector>

#include "trace/formula.hpp"

namespace vramfit {

class PathGrowth {
  public:
    PathGrowth(const symbolic::Symbols& symbols, const std::vector<FormulaInstant>& instants);

    /// For two rows of the path that differ in one axis: every row between them takes the path, too, and requests no
    /// less than the smaller and no more than the larger.
    bool proves(std::span<const std::int64_t> low, std::span<const std::int64_t> high) const;

  private:
    bool rises_;                       ///< no instant shrinks where an axis grows, and every condition is monotone
    symbolic::Evaluation inequality_;  ///< expressions that are not zero on the path
};

}  // namespace vramfit
