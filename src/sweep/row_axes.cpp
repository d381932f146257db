// Ranges of the axes of a space.
#include "sweep/row_axes.hpp"

#include <algorithm>

namespace vramfit {

namespace {

model::AxisRange range_of(const std::vector<std::int64_t>& axis) {
    const auto [low, high] = std::minmax_element(axis.begin(), axis.end());
    return {*low, *high};
}

}  // namespace

RowAxes::RowAxes(const SweepQuestion& question)
    : question_(question),
      ranges_{range_of(question.space.batches), range_of(question.space.lengths), range_of(question.space.ranks)} {}

model::AxisValues RowAxes::values(std::size_t row) const {
    const SweepSpace& space = question_.space;
    const Coordinates c = coordinates_of(space, row);
    return model::values_on(ranges_, space.batches[c.batch], space.lengths[c.length],
                            question_.base.peft ? std::optional(space.ranks[c.rank]) : std::nullopt);
}

}  // namespace vramfit
