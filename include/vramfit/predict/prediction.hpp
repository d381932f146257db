// The answer about one configuration: verdict, named peaks with their shares, levels at named instants.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "vramfit/alloc/replay.hpp"
#include "vramfit/base/note.hpp"
#include "vramfit/predict/plan_changes.hpp"
#include "vramfit/spec/assumption.hpp"
#include "vramfit/spec/device.hpp"
#include "vramfit/spec/model_spec.hpp"
#include "vramfit/spec/stack.hpp"
#include "vramfit/spec/train_plan.hpp"
#include "vramfit/trace/category.hpp"

namespace vramfit {

/// A verdict holds over all that is not known: `fits` where everything assumed is at its worst, `too_large` where
/// everything is at its best, `tight` in between. `unknown`: an upper bound of another program is too large.
enum class Verdict : std::uint8_t { fits, tight, too_large, unknown, not_asked };

/// The name in JSON: "too_large".
const char* name_of(Verdict verdict);

/// Bytes by category at the instant of a peak; they sum to its requested bytes.
using Shares = std::array<std::int64_t, kCategoryCount>;

/// A named peak of the run: the levels of its highest window.
struct PeakResult {
    std::string id;      ///< "D", or empty
    std::string name;    ///< "central_autograd"
    std::string window;  ///< "step1.backward.loss": where it is highest
    std::int64_t requested = 0;
    std::int64_t allocated = 0;
    std::int64_t reserved = 0;
    std::int64_t process = 0;  ///< reserved + context
    Instant at = 0;            ///< when `requested` is reached
    Shares shares{};           ///< of `requested`, at that instant
};

/// The same run with one thing larger: how far it is from not fitting.
struct Neighbour {
    std::string flag;  ///< "--batch"
    std::int64_t value = 0;
    Verdict verdict = Verdict::fits;
    Levels peak;            ///< as in a prediction
    std::int64_t left = 0;  ///< of the usable bytes; below zero: missing
};

/// The verdicts where all that is assumed takes the most, and the least, that it can: fits or too_large.
struct VerdictEnds {
    Verdict worst = Verdict::not_asked;
    Verdict best = Verdict::not_asked;

    /// fits, tight, too_large.
    Verdict verdict() const { return worst == best ? worst : Verdict::tight; }
};

/// One stage of a pipeline.
struct StageResult {
    std::int64_t process = 0;
    Verdict verdict = Verdict::not_asked;
    Levels peak;  ///< as in a prediction
};

/// The answer. After an out of memory the verdict and `out_of_memory` are those of the card; all levels are those of
/// the same run on a card that is large enough.
struct Prediction {
    Verdict verdict = Verdict::not_asked;
    VerdictEnds ends;
    Assumptions assumptions;  ///< of the card and of the run: what lies between the ends
    ModelSpec model;
    TrainPlan plan;
    Stack stack;
    Device device;
    std::string highest;  ///< name of the peak with the most requested bytes
    Levels peak;          ///< highest of the whole run
    std::vector<PeakResult> peaks;
    Levels after_load;
    Levels resident;
    Levels end;
    std::map<std::string, std::int64_t> quantities;  ///< names of the job schema
    std::int64_t managed = 0;
    std::int64_t trainable_parameters = 0;
    std::int64_t total_parameters = 0;
    Collectives collectives;
    std::optional<OutOfMemory> out_of_memory;
    std::string out_of_memory_window;
    Levels out_of_memory_levels;         ///< on the card, when the request failed
    std::vector<Neighbour> next_larger;  ///< empty unless asked for (predict_with_next_larger)
    std::optional<PlanChanges> changes;  ///< where it does not fit, if they were looked for (check/plan_changes.hpp)
    std::optional<LargestFit> largest;   ///< where it fits, likewise
    std::string smallest_gpu;         ///< where no card was given: the smallest known one that holds it, if looked for
    std::vector<StageResult> stages;  ///< of a pipeline, where no process was named; else empty
    std::int64_t retries = 0;         ///< times the allocator gave its free segments back and asked again
    Notes notes;

    /// What the run has at both ends of what is assumed.
    Bytes usable_low() const { return device.usable - at_worst(assumptions); }
    Bytes usable_high() const { return device.usable + at_best(assumptions); }
};

}  // namespace vramfit
