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
    std::int64_t spare = 0;           ///< usable bytes of the card that are then left; negative: missing
};

/// The answer for one card.
struct CheckAnswer {
    Prediction prediction;
    std::string runner_up;                 ///< name of the second highest peak
    std::int64_t spare = 0;                ///< usable bytes left; negative: how many are missing
    std::vector<PricedChange> changes;     ///< each fits; cheapest first
    std::vector<std::string> tried;        ///< kinds of change that were looked at, alone and together
    std::optional<PricedChange> smallest;  ///< where no change fits: the run that needs the least
    std::string holds_smallest;            ///< the smallest known card that holds it; empty: none
    std::optional<std::int64_t> wall;      ///< with lengths: the longest row that fits
    std::int64_t rows_beyond_wall = 0;     ///< how many of the lengths are longer

    /// Nothing stands against it: fits, or no card was given.
    bool fits() const { return prediction.verdict == Verdict::fits || prediction.verdict == Verdict::not_asked; }
};

struct CheckResult {
    Reading reading;                       ///< of the first card
    std::vector<CheckAnswer> answers;      ///< in order of the devices; empty if anything is refused
    Verdict verdict = Verdict::not_asked;  ///< the worst of all cards: fits, tight, too_large, unknown
    bool looked_for_changes = false;       ///< where it does not fit
    bool refused() const { return !reading.refusals.empty(); }
};

/// Reads, predicts on each card, and prices changes. Throws Error (invalid) for what cannot be understood.
CheckResult check(const CheckQuestion& question);

}  // namespace vramfit
