// Whether the run that a trainer's files describe fits: on each card, with what to change where it does not.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "vramfit/predict/prediction.hpp"
#include "vramfit/trainers/reading.hpp"

namespace vramfit {

struct CheckQuestion {
    TrainerQuestion trainer;
    std::vector<Device> devices;  ///< at least one; a device without a capacity is asked nothing
    bool price_changes = true;    ///< look for changes where the run does not fit
    std::size_t most_changes = 3;
};

/// A change of the trainer's file and what the run then needs.
struct PricedChange {
    std::vector<std::string> titles;  ///< one for each change that is part of it
    std::vector<TrainerEdit> edits;
    std::vector<std::string> before;  ///< the keys' values now; empty text: not there
    std::int64_t reserved = 0;        ///< highest of the run
    std::int64_t spare = 0;           ///< usable bytes of the card that are then left
};

/// The answer for one card.
struct CheckAnswer {
    Prediction prediction;
    std::string runner_up;              ///< name of the second highest peak
    std::int64_t spare = 0;             ///< usable bytes left; negative: how many are missing
    std::vector<PricedChange> changes;  ///< each fits; cheapest first
    std::optional<std::int64_t> wall;   ///< with lengths: the longest row that fits
    std::int64_t rows_beyond_wall = 0;  ///< how many of the lengths are longer
};

struct CheckResult {
    Reading reading;                       ///< of the first card
    std::vector<CheckAnswer> answers;      ///< in order of the devices; empty if anything is refused
    Verdict verdict = Verdict::not_asked;  ///< too_large if it is on any card
    bool refused() const { return !reading.refusals.empty(); }
};

/// Reads, predicts on each card, and prices changes. Throws Error (invalid) for what cannot be understood.
CheckResult check(const CheckQuestion& question);

}  // namespace vramfit
