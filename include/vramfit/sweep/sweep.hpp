// Many configurations: which fit their card, and which fill it best.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "vramfit/base/note.hpp"
#include "vramfit/peaks/peak.hpp"
#include "vramfit/predict/prediction.hpp"
#include "vramfit/sweep/space.hpp"

namespace vramfit {

/// One model on one card, with all that does not vary from row to row.
struct SweepQuestion {
    ModelSpec model;
    TrainPlan base;
    Stack stack;
    Device device;  ///< capacity_known must hold
    SweepSpace space;
};

struct SweepProgress {
    std::size_t settled = 0;  ///< rows with an answer, rows ruled out included
    std::size_t total = 0;
};

struct SweepOptions {
    bool prune = true;     ///< formulas and dominance; else every row is recorded by itself and replayed
    std::size_t top = 10;  ///< rows of the ranking that must be certain; 0: all
    std::function<void(const SweepProgress&)> progress;
};

enum class RowStatus : std::uint8_t { simulated, ruled_out, invalid };

/// A row's answer. Bytes are those of the whole run's highest moment.
struct SweepRow {
    std::size_t number = 0;    ///< place among all rows
    std::size_t question = 0;  ///< whose row it is
    RowStatus status = RowStatus::invalid;
    std::optional<Verdict> verdict;           ///< absent: not replayed
    std::size_t path = 0;                     ///< of simulated rows: rows of one path and question run alike
    std::optional<std::size_t> ruled_out_by;  ///< a row that is too large, and that this one dominates
    std::string problem;                      ///< of invalid rows
    const Peak* peak = nullptr;               ///< the highest
    std::int64_t requested = 0;
    std::int64_t allocated = 0;  ///< 0 where the row was not replayed
    std::int64_t reserved = 0;
    double utilization = 0;  ///< requested bytes by the card's usable bytes
};

struct SweepCounts {
    std::size_t total = 0;
    std::size_t simulated = 0;
    std::size_t recorded = 0;  ///< runs of the engine that the simulated rows follow from
    std::size_t replayed = 0;
    std::size_t ruled_out = 0;
    std::size_t invalid = 0;
};

struct SweepResult {
    std::vector<SweepRow> rows;           ///< all rows of all spaces, by number
    std::vector<std::size_t> first_rows;  ///< number of the first row of each question's space
    std::vector<std::size_t> ranking;     ///< rows that fit, closest to the card's capacity first
    SweepCounts counts;
    Notes notes;  ///< of the cards and of the plans, one of each kind

    /// The row's place in the space of its question.
    std::size_t place_of(const SweepRow& row) const { return row.number - first_rows[row.question]; }
};

/// Runs the sweep over the spaces of all questions, which share one ranking. The same answer with and without pruning:
/// equal rankings, equal verdicts where both have one. Throws Error (invalid) for an impossible space. A question
/// without any valid row is an error if it is the only one, or if no other has one either; else its rows are invalid.
SweepResult sweep(std::span<const SweepQuestion> questions, const SweepOptions& options);
inline SweepResult sweep(const SweepQuestion& question, const SweepOptions& options) {
    return sweep(std::span(&question, 1), options);
}

}  // namespace vramfit
