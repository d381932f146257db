// What to change in the flags of a run that does not fit, and how large a run may be that does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace vramfit {

struct FlagValue {
    std::string flag;  ///< "batch"
    std::string value;

    friend bool operator==(const FlagValue&, const FlagValue&) = default;
};

/// Other values of flags and what the run then needs.
struct PlanChange {
    std::vector<std::string> titles;  ///< a sentence without its full stop for each change that is part of it
    std::vector<FlagValue> flags;
    std::int64_t reserved = 0;  ///< highest of the run
    std::int64_t spare = 0;     ///< usable bytes of the card that are then left; negative: how many are missing
};

/// "--batch 2 --accumulate 8".
std::string text_of(const std::vector<FlagValue>& flags);

struct PlanChanges {
    std::vector<PlanChange> changes;     ///< each fits, over all that is not known; the cheapest first
    std::vector<std::string> tried;      ///< kinds of change that were looked at, alone and together
    std::optional<PlanChange> smallest;  ///< where nothing fits: the run that needs the least
    std::string holds_smallest;          ///< the smallest known card that holds it; empty: none
};

/// The largest run of a kind on a card.
struct LargestFit {
    std::int64_t batch = 0;   ///< rows of as many tokens as the job's that fit; 0: not even one
    std::int64_t seq = 0;     ///< tokens of rows that fit in a batch as large as the job's; 0: none
    bool seq_is_all = false;  ///< as many as the model has positions for
};

}  // namespace vramfit
