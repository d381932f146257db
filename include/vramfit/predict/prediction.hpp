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
#include "vramfit/spec/device.hpp"
#include "vramfit/spec/model_spec.hpp"
#include "vramfit/spec/stack.hpp"
#include "vramfit/spec/train_plan.hpp"
#include "vramfit/trace/category.hpp"

namespace vramfit {

enum class Verdict : std::uint8_t { fits, too_large, not_asked };

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
    std::vector<StageResult> stages;     ///< of a pipeline, where no process was named; else empty
    std::int64_t retries = 0;            ///< times the allocator gave its free segments back and asked again
    Notes notes;
};

}  // namespace vramfit
