// The formulas of a set of targets: recorded where no known one holds, then good for every row of their path.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <vector>

#include "sweep/row_axes.hpp"

namespace vramfit {

class TargetFormulas {
  public:
    /// Takes the program of a path, which a formula's recording has along the way.
    using TakeProgram = std::function<void(std::size_t path, ProgramTemplate program)>;

    /// `take` may be empty: then programs are not kept. It is asked before each recording.
    explicit TargetFormulas(const SweepQuestion& question, std::function<TakeProgram()> take = {});

    /// The number of the formula that holds for a valid row, one of always the same set of targets; records one if none
    /// does. Rows of one formula take the same path. Throws what recording throws.
    std::size_t path_of(std::size_t row);
    /// The highest moment of the row that path_of was asked for last.
    Highest highest() { return formulas_[current_].highest(rows_[current_]); }
    std::int64_t highest_but_in(PhaseKind kind) { return formulas_[current_].highest_but_in(rows_[current_], kind); }
    std::int64_t floor() { return formulas_[current_].floor(rows_[current_]); }
    std::size_t recorded() const { return formulas_.size(); }

  private:
    void record(std::size_t row);

    const SweepQuestion& question_;
    std::function<TakeProgram()> take_;
    RowAxes axes_;
    std::deque<Formula> formulas_;
    std::vector<std::size_t> known_;  ///< formulas, the last used first
    std::size_t current_ = 0;
    std::deque<Formula::Row> rows_;  ///< by formula
};

}  // namespace vramfit
