// Where a run that was recorded parts from its prediction: which window, which allocation, how many bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "vramfit/snapshot/snapshot.hpp"
#include "vramfit/trace/program.hpp"

namespace vramfit {

enum class DifferenceKind : std::uint8_t {
    size,                ///< one allocation, of other bytes
    only_in_snapshot,    ///< allocations that are not predicted
    only_in_prediction,  ///< allocations that were not made
    freed_elsewhere,     ///< the same allocations, freed earlier or later
    held_before,         ///< what the run already held where the comparison begins
};

/// The name in JSON: "only_in_snapshot".
const char* name_of(DifferenceKind kind);

/// An allocation of the prediction.
struct PredictedAllocation {
    std::int64_t bytes = 0;
    std::string op;
    std::string module;
    Category category = Category::unattributed;
};

/// An allocation of the snapshot.
struct SeenAllocation {
    std::int64_t bytes = 0;
    std::size_t entry = 0;           ///< of device_traces
    std::vector<StackFrame> frames;  ///< innermost first; empty if they were not recorded
};

struct SnapshotDifference {
    DifferenceKind kind = DifferenceKind::size;
    std::string window;                            ///< predicted
    std::optional<PredictedAllocation> predicted;  ///< the first that differs
    std::optional<SeenAllocation> seen;
    std::size_t predicted_count = 0;  ///< allocations that differ here, in a row
    std::size_t seen_count = 0;
    std::int64_t predicted_bytes = 0;  ///< of these
    std::int64_t seen_bytes = 0;
};

/// Sizes that one side holds more often than the other where the comparison begins.
struct HeldSize {
    std::int64_t bytes = 0;
    std::int64_t seen = 0;
    std::int64_t predicted = 0;
    std::optional<PredictedAllocation> what;  ///< of the prediction, if it has one of that size
};

/// The out of memory that the snapshot recorded.
struct SeenOutOfMemory {
    std::string window;          ///< predicted; empty: outside of what was aligned
    std::int64_t tried = 0;      ///< bytes that the device was asked for
    std::int64_t free = 0;       ///< that the device had left
    std::int64_t requested = 0;  ///< held by tensors then
};

struct SnapshotComparison {
    bool aligned = false;         ///< whether anything of the snapshot was found in the prediction
    std::size_t entries = 0;      ///< of device_traces
    std::size_t compared = 0;     ///< allocations and frees that stand on both sides
    std::size_t allocations = 0;  ///< of the snapshot
    std::size_t known_sizes = 0;  ///< of them, of a size that the prediction has
    bool from_start = false;      ///< recording began with the first allocation
    std::string first_window;     ///< that both have
    std::string last_window;
    std::int64_t extra_steps = 0;  ///< steps beyond those of the prediction, compared with its last one
    bool load_compared = false;
    bool load_reordered = false;  ///< the same allocations in another order, as loading threads have it
    std::int64_t held_seen = 0;   ///< requested bytes where the comparison begins
    std::int64_t held_predicted = 0;
    std::int64_t peak_seen = 0;  ///< highest requested bytes of the recorded part
    std::int64_t peak_predicted = 0;
    std::string peak_window_seen;
    std::string peak_window_predicted;
    std::vector<SnapshotDifference> differences;  ///< in order, the first ones
    std::size_t difference_count = 0;
    std::vector<HeldSize> held;  ///< where held_before is a difference: the largest
    std::optional<SeenOutOfMemory> out_of_memory;

    bool equal() const { return aligned && difference_count == 0; }
};

/// The snapshot may begin and end anywhere in the run, and have more steps than the program: they are compared with
/// the program's last one, if it has at least two.
SnapshotComparison compare_snapshot(const Snapshot& snapshot, const Program& program);

}  // namespace vramfit
