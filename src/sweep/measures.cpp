// The table of measures, and which rows a sweep's bounds leave.
#include "vramfit/sweep/measures.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "vramfit/base/checked.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/sweep/sweep.hpp"

namespace vramfit {

namespace {

using PlanNumber = std::optional<std::int64_t>;

PlanNumber rank_of(const SweepQuestion& q, const Coordinates& at) {
    return q.base.peft ? PlanNumber(q.space.ranks[at.rank]) : std::nullopt;
}

PlanNumber batch_of(const SweepQuestion& q, const Coordinates& at) { return q.space.batches[at.batch]; }

PlanNumber length_of(const SweepQuestion& q, const Coordinates& at) { return q.space.lengths[at.length]; }

PlanNumber effective_batch_of(const SweepQuestion& q, const Coordinates& at) {
    return checked_mul(q.space.batches[at.batch], q.base.training.gradient_accumulation_steps);
}

PlanNumber tokens_of(const SweepQuestion& q, const Coordinates& at) {
    return checked_mul(*effective_batch_of(q, at), q.space.lengths[at.length]);
}

constexpr SweepMeasure kMeasures[] = {
    {"capacity", "", "closest to the GPU's capacity", nullptr, [](const SweepRow& row) { return row.utilization; }},
    {"tokens", "", "tokens in a step (batch size x length x accumulation)", tokens_of},
    {"rank", "", "rank of the adapters", rank_of},
    {"sequence", "seq", "sequence length", length_of},
    {"batch", "", "batch size", batch_of},
    {"effective-batch", "", "sequences in a step (batch size x accumulation)", effective_batch_of},
    {"memory", "", "requested bytes, the fewest", nullptr,
     [](const SweepRow& row) { return -static_cast<double>(row.requested); }},
};

/// Smallest and largest value of a measure over all rows; absent if no run has it.
std::optional<std::pair<std::int64_t, std::int64_t>> range_of(const SweepMeasure& measure,
                                                              std::span<const SweepQuestion> questions) {
    std::optional<std::pair<std::int64_t, std::int64_t>> out;
    for (const SweepQuestion& q : questions)
        for (std::size_t place = 0, rows = row_count(q.space); place < rows; ++place) {
            const auto value = measure.of_plan(q, coordinates_of(q.space, place));
            if (!value) continue;
            if (!out) out.emplace(*value, *value);
            out->first = std::min(out->first, *value);
            out->second = std::max(out->second, *value);
        }
    return out;
}

bool any_within(std::span<const SweepBound> bounds, std::span<const SweepQuestion> questions) {
    for (const SweepQuestion& q : questions)
        for (std::size_t place = 0, rows = row_count(q.space); place < rows; ++place)
            if (within(bounds, q, place)) return true;
    return false;
}

}  // namespace

std::span<const SweepMeasure> sweep_measures() { return kMeasures; }

const SweepMeasure* find_measure(std::string_view name) {
    for (const SweepMeasure& measure : kMeasures)
        if (name == measure.name || (!name.empty() && name == measure.alias)) return &measure;
    return nullptr;
}

double value_of(const SweepMeasure& measure, const SweepQuestion& question, std::size_t place, const SweepRow& row) {
    if (measure.of_row) return measure.of_row(row);
    const auto value = measure.of_plan(question, coordinates_of(question.space, place));
    return value ? static_cast<double>(*value) : -std::numeric_limits<double>::infinity();
}

bool within(std::span<const SweepBound> bounds, const SweepQuestion& question, std::size_t place) {
    if (bounds.empty()) return true;
    const Coordinates at = coordinates_of(question.space, place);
    return std::all_of(bounds.begin(), bounds.end(), [&](const SweepBound& b) { return b.holds(question, at); });
}

void check_bounds(std::span<const SweepBound> bounds, std::span<const SweepQuestion> questions) {
    if (bounds.empty() || any_within(bounds, questions)) return;
    for (const SweepBound& bound : bounds) {
        if (any_within({&bound, 1}, questions)) continue;
        const auto range = range_of(*bound.measure, questions);
        const std::string wanted =
            bound.low == bound.high ? fmt::format("{}", bound.low) : fmt::format("{} or more", bound.low);
        throw Error(ErrorKind::invalid, bound.where,
                    fmt::format("no configuration of the space has {}: {}", wanted, bound.measure->help),
                    fmt::format("the space goes from {} to {}", range->first, range->second));
    }
    std::vector<std::string> names;
    for (const SweepBound& bound : bounds) names.push_back(bound.where);
    throw Error(ErrorKind::invalid, fmt::format("{}", fmt::join(names, ", ")),
                "no configuration of the space meets all of them", "leave one out, or give the axes more values");
}

}  // namespace vramfit
