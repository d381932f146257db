// What rows are compared by: the words of --sort and --pareto, and the bounds of a space.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "vramfit/sweep/question.hpp"

namespace vramfit {

struct SweepRow;

/// A number of a row; more is better.
struct SweepMeasure {
    const char* name;   ///< "tokens"
    const char* alias;  ///< another word for it, or ""
    const char* help;   ///< "tokens of a step"
    /// What the plan says; absent where a run has no such thing. nullptr: a number of the answer.
    std::optional<std::int64_t> (*of_plan)(const SweepQuestion& question, const Coordinates& at);
    double (*of_row)(const SweepRow& row) = nullptr;
};

/// All measures, in order of help.
std::span<const SweepMeasure> sweep_measures();
/// The measure of that name or alias, or nullptr.
const SweepMeasure* find_measure(std::string_view name);
/// The measure of a row; what a run does not have is below everything.
double value_of(const SweepMeasure& measure, const SweepQuestion& question, std::size_t place, const SweepRow& row);

/// A condition on rows: a measure of their plan between two numbers, both included. Runs without it are not bounded.
struct SweepBound {
    const SweepMeasure* measure = nullptr;
    std::int64_t low = 0;
    std::int64_t high = std::numeric_limits<std::int64_t>::max();
    std::string where;  ///< "--min-rank": named in errors

    bool holds(const SweepQuestion& question, const Coordinates& at) const {
        const auto value = measure->of_plan(question, at);
        return !value || (*value >= low && *value <= high);
    }
};

/// Whether the row meets all bounds.
bool within(std::span<const SweepBound> bounds, const SweepQuestion& question, std::size_t place);

/// Throws Error (invalid) if no row meets all bounds, with the bound that none meets and what there is.
void check_bounds(std::span<const SweepBound> bounds, std::span<const SweepQuestion> questions);

}  // namespace vramfit
