// Axes that go on upwards as long as anything fits: their smallest runs, by formulas.
#include "vramfit/sweep/widen.hpp"

#include <algorithm>

#include "sweep/formulas.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/plan_check.hpp"

namespace vramfit {

namespace {

constexpr std::int64_t kLargestBatch = 1024;
constexpr std::int64_t kTokensOfBatches = 128;

/// Doubled values behind the largest of the axis; the last is `most` itself.
std::vector<std::int64_t> beyond(const std::vector<std::int64_t>& axis, std::int64_t most) {
    std::vector<std::int64_t> out;
    for (std::int64_t v = *std::max_element(axis.begin(), axis.end()); v < most;)
        out.push_back(v = std::min(2 * v, most));
    return out;
}

/// The set of targets whose adapters are the fewest.
const TargetSet& smallest_set(const SweepSpace& space) {
    return *std::min_element(space.targets.begin(), space.targets.end(), [](const TargetSet& a, const TargetSet& b) {
        return a.modules.size() < b.modules.size();
    });
}

/// How many of the rows of a question that rises along one axis request what the card surely has, from the first on.
std::size_t fitting(const SweepQuestion& question) {
    const std::size_t rows = row_count(question.space);
    PlanChecker checker(question.model, question.stack);
    TargetFormulas formulas(question);
    for (std::size_t row = 0; row < rows; ++row) {
        try {
            checker.check(plan_of(question.space, question.base, row));
        } catch (const Error&) {
            return row;
        }
        formulas.path_of(row);
        if (formulas.highest().requested > question.device.usable_low().count) return row;
    }
    return rows;
}

void extend(const SweepQuestion& question, std::vector<std::int64_t> SweepSpace::*axis, std::vector<std::int64_t> more,
            SweepSpace& out) {
    if (more.empty()) return;
    SweepQuestion smallest = question;
    const auto least = [](const std::vector<std::int64_t>& values) {
        return *std::min_element(values.begin(), values.end());
    };
    const SweepSpace& space = question.space;
    smallest.space = {{least(space.ranks)}, {least(space.batches)}, {least(space.lengths)}, {smallest_set(space)}};
    if (axis == &SweepSpace::batches)
        smallest.space.lengths = {std::max(smallest.space.lengths.front(), kTokensOfBatches)};
    smallest.space.*axis = more;
    more.resize(fitting(smallest));
    (out.*axis).insert((out.*axis).end(), more.begin(), more.end());
}

}  // namespace

SweepSpace widened(const SweepQuestion& question, WidenedAxes axes) {
    SweepSpace out = question.space;
    if (axes.length)
        extend(question, &SweepSpace::lengths, beyond(question.space.lengths, question.model.max_position_embeddings),
               out);
    if (axes.batch) extend(question, &SweepSpace::batches, beyond(question.space.batches, kLargestBatch), out);
    return out;
}

}  // namespace vramfit
