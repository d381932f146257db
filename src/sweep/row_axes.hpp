// The axes of a space as formulas see them: those that vary, with each row's values.
#pragma once

#include <cstddef>

#include "model/record.hpp"
#include "vramfit/sweep/sweep.hpp"

namespace vramfit {

class RowAxes {
  public:
    explicit RowAxes(const SweepQuestion& question);

    const model::FormulaAxes& ranges() const { return ranges_; }
    model::AxisValues values(std::size_t row) const;

  private:
    const SweepQuestion& question_;
    model::FormulaAxes ranges_;
};

}  // namespace vramfit
