// The axes of a space as formulas see them: those that vary, with each row's values.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "model/record.hpp"
#include "vramfit/sweep/sweep.hpp"

namespace vramfit {

/// A row's values of the axes that vary: batch, length, rank.
struct AxisValues {
    std::array<std::int64_t, 3> values{};
    std::size_t count = 0;
    std::span<const std::int64_t> all() const { return std::span(values).first(count); }
};

class RowAxes {
  public:
    explicit RowAxes(const SweepQuestion& question);

    const model::FormulaAxes& ranges() const { return ranges_; }
    AxisValues values(std::size_t row) const;

  private:
    const SweepQuestion& question_;
    model::FormulaAxes ranges_;
};

}  // namespace vramfit
