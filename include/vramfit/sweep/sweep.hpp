// Many configurations of one model on one card: which fit, and which fill it best.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "vramfit/base/note.hpp"
#include "vramfit/predict/prediction.hpp"
#include "vramfit/sweep/space.hpp"

namespace vramfit {

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
    std::size_t number = 0;  ///< place in the space
    RowStatus status = RowStatus::invalid;
    std::optional<Verdict> verdict;           ///< absent: not replayed
    std::optional<std::size_t> ruled_out_by;  ///< a row that is too large, and that this one dominates
    std::string problem;                      ///< of invalid rows
    std::string peak;                         ///< name of the highest peak
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
    std::vector<SweepRow> rows;        ///< all rows of the space, by number
    std::vector<std::size_t> ranking;  ///< rows that fit, closest to the card's capacity first
    SweepCounts counts;
    Notes notes;  ///< of the card and of the plans, one of each kind
};

/// Runs the sweep. The same answer with and without pruning: equal rankings, equal verdicts where both have one.
/// Throws Error (invalid) for an impossible space, one without any valid row included.
SweepResult sweep(const SweepQuestion& question, const SweepOptions& options);

}  // namespace vramfit
