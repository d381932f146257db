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

AxisValues RowAxes::values(std::size_t row) const {
    const SweepSpace& space = question_.space;
    const Coordinates c = coordinates_of(space, row);
    AxisValues out;
    const auto put = [&out](const model::AxisRange& range, std::int64_t value) {
        if (range.low < range.high) out.values[out.count++] = value;
    };
    put(ranges_.batch, space.batches[c.batch]);
    put(ranges_.length, space.lengths[c.length]);
    if (question_.base.peft) put(ranges_.rank, space.ranks[c.rank]);
    return out;
}

}  // namespace vramfit
