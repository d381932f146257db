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
#include "vramfit/sweep/measures.hpp"
#include "vramfit/sweep/question.hpp"

namespace vramfit {

struct SweepProgress {
    std::size_t settled = 0;  ///< rows with an answer, rows ruled out included
    std::size_t total = 0;
};

/// A part of all rows: those from total*(part-1)/of on, in order of their numbers.
struct SweepShard {
    std::size_t part = 1;
    std::size_t of = 1;
    bool holds(std::size_t number, std::size_t total) const {
        return number >= total * (part - 1) / of && number < total * part / of;
    }
};

/// Which rows make the ranking, and in which order. Ties: closest to the card's capacity first, then the smaller
/// number.
struct SweepSelection {
    std::size_t top = 10;                        ///< rows that must be certain (of each group); 0: all
    const SweepMeasure* sort = nullptr;          ///< highest first; nullptr: closest to the card's capacity
    std::vector<const SweepMeasure*> pareto;     ///< not empty: rows that no other one excels, all of them
    std::function<std::size_t(RowPlace)> group;  ///< not empty: the best of each group, in order of groups
};

struct SweepOptions {
    bool prune = true;      ///< formulas and dominance; else every row is recorded by itself and replayed
    bool dominance = true;  ///< rows are ruled out without asking what they request
    SweepSelection selection;
    std::vector<SweepBound> bounds;                      ///< rows outside are not swept
    SweepShard shard;                                    ///< rows of other parts are not swept
    std::size_t threads = 1;                             ///< the answer is the same for any number of them
    std::function<void(const SweepProgress&)> progress;  ///< of one thread at a time, as is stop
    std::function<bool()> stop;                          ///< asked after every row: the rest is left open
};

/// `outside` of the bounds; `open`: another part's, or not reached before the sweep was stopped.
enum class RowStatus : std::uint8_t { simulated, ruled_out, invalid, outside, open };

/// A row's answer. Bytes are those of the whole run's highest moment.
struct SweepRow {
    std::size_t number = 0;    ///< place among all rows
    std::size_t question = 0;  ///< whose row it is
    RowStatus status = RowStatus::invalid;
    std::optional<Verdict> verdict;  ///< absent: not replayed; fits and tight are those of a replay
    std::size_t path = 0;            ///< of simulated rows: those of one question, set of targets and path run alike
    std::optional<std::size_t> ruled_out_by;  ///< a row that is too large, and that this one dominates
    std::string problem;                      ///< of invalid rows
    const Peak* peak = nullptr;               ///< the highest
    std::int64_t requested = 0;               ///< on a card with plenty of memory; rows are ranked by it
    std::int64_t requested_there =
        0;                       ///< on the question's card, which Unsloth's step may run with less on; 0: not replayed
    std::int64_t allocated = 0;  ///< 0 where the row was not replayed
    std::int64_t reserved = 0;
    double utilization = 0;  ///< requested bytes by the card's usable bytes

    std::int64_t requested_on_card() const { return requested_there > 0 ? requested_there : requested; }
    bool is_leaner() const { return requested_on_card() < requested; }
};

struct SweepCounts {
    std::size_t total = 0;
    std::size_t simulated = 0;
    std::size_t recorded = 0;  ///< runs of the engine that the simulated rows follow from
    std::size_t replayed = 0;
    std::size_t ruled_out = 0;
    std::size_t invalid = 0;
    std::size_t outside = 0;
    std::size_t open = 0;
    std::size_t tight = 0;      ///< rows of which a replay says so
    std::size_t undecided = 0;  ///< not replayed, and requesting what only the best end of the assumptions has
};

/// Where nothing fits: the row that requests least, on a card that is large enough.
struct NearestMiss {
    std::size_t number = 0;
    Verdict verdict = Verdict::too_large;
    std::int64_t reserved = 0;
    std::int64_t missing = 0;  ///< of the usable bytes, where all that is assumed takes the most
};

struct SweepResult {
    std::vector<SweepRow> rows;           ///< all rows of all spaces, by number
    std::vector<std::size_t> first_rows;  ///< number of the first row of each question's space
    std::vector<std::size_t> ranking;     ///< rows that fit whatever is not known, in the order of the selection
    std::optional<NearestMiss> nearest;   ///< of a whole sweep whose ranking is empty
    bool stopped = false;                 ///< before all rows were looked at, or before the ranking was certain
    SweepCounts counts;
    std::string problem;          ///< of the first invalid row
    bool other_problems = false;  ///< whether other rows are invalid for other reasons
    Notes notes;                  ///< of the cards and of the plans, one of each kind

    /// The row's place in the space of its question.
    std::size_t place_of(const SweepRow& row) const { return row.number - first_rows[row.question]; }
};

/// Rows that a sweep holds in memory at most.
inline constexpr std::size_t kMostRowsHeld = 10'000'000;

/// Numbers of each question's first row, and of all rows behind them. Throws what row_count throws, and Error (invalid)
/// for more rows than a sweep can number.
std::vector<std::size_t> first_rows_of(std::span<const SweepQuestion> questions);

/// One answer from those of all parts of a sweep, in their order: the ranking is that of the whole.
SweepResult merged(std::span<const SweepQuestion> questions, const SweepOptions& options,
                   std::vector<SweepResult> parts);

/// Runs the sweep over the spaces of all questions, which share one ranking. The same answer with and without pruning:
/// equal rankings, equal verdicts where both have one. Throws Error (invalid) for an impossible space. A question
/// without any valid row is an error if it is the only one, or if no other has one either; else its rows are invalid.
SweepResult sweep(std::span<const SweepQuestion> questions, const SweepOptions& options);
inline SweepResult sweep(const SweepQuestion& question, const SweepOptions& options) {
    return sweep(std::span(&question, 1), options);
}

}  // namespace vramfit
