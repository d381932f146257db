// Which formula holds for a row.
#include "sweep/formulas.hpp"

#include <algorithm>
#include <stdexcept>

namespace vramfit {

namespace {

model::AxisRange range_of(const std::vector<std::int64_t>& axis) {
    const auto [low, high] = std::minmax_element(axis.begin(), axis.end());
    return {*low, *high};
}

bool varies(const model::AxisRange& range) { return range.low < range.high; }

}  // namespace

SpaceFormulas::SpaceFormulas(const SweepQuestion& question)
    : question_(question), by_target_(question.space.targets.size()) {
    axes_.batch = range_of(question.space.batches);
    axes_.length = range_of(question.space.lengths);
    axes_.rank = range_of(question.space.ranks);
}

std::size_t SpaceFormulas::path_of(std::size_t row) {
    const SweepSpace& space = question_.space;
    const Coordinates c = coordinates_of(space, row);
    std::int64_t values[3] = {};
    std::size_t count = 0;
    if (varies(axes_.batch)) values[count++] = space.batches[c.batch];
    if (varies(axes_.length)) values[count++] = space.lengths[c.length];
    if (question_.base.peft && varies(axes_.rank)) values[count++] = space.ranks[c.rank];
    const std::span<const std::int64_t> axes(values, count);
    const auto holds = [&](std::size_t formula) {
        formulas_[formula].begin(row_, axes);
        return formulas_[formula].covers(row_);
    };
    std::vector<std::size_t>& known = by_target_[c.target];
    const auto at = std::find_if(known.begin(), known.end(), holds);
    if (at != known.end()) {
        std::rotate(known.begin(), at, at + 1);
        return current_ = known.front();
    }
    const TrainPlan plan = plan_of(space, question_.base, row);
    formulas_.push_back(model::formulate(question_.model, plan, question_.stack, question_.device, axes_));
    current_ = formulas_.size() - 1;
    known.insert(known.begin(), current_);
    if (!holds(current_)) throw std::logic_error("a formula does not hold where it was recorded");
    return current_;
}

}  // namespace vramfit
