// The search for changes with which a run fits, whatever the words that changes are written in.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace vramfit {

/// A thing that can be changed in steps, from the mildest to the one that needs the least memory.
struct Knob {
    std::string id;
    std::size_t steps = 1;
};

/// How far each knob is turned; 0: not at all.
using Turns = std::vector<std::size_t>;

/// The run with knobs turned. No such run, and one that cannot be predicted, does not fit and needs nothing.
struct TurnedRun {
    std::function<bool(const Turns&)> fits;
    /// Bytes that its tensors request, the highest of the run.
    std::function<std::optional<std::int64_t>(const Turns&)> requested;
    /// Bytes that are reserved for it on a card that is large enough.
    std::function<std::optional<std::int64_t>(const Turns&)> reserved;
    /// Events of all runs so far that were recorded to answer.
    std::function<std::size_t()> events = [] { return std::size_t{0}; };
};

struct FoundTurns {
    std::vector<Turns> fitting;     ///< each fits; the cheapest first
    std::optional<Turns> smallest;  ///< where none does: the run that needs the least
};

/// When to stop looking for further changes; the first one, or the smallest run, is always looked for.
struct SearchLimits {
    std::size_t changes = 3;
    std::size_t runs = 64;  ///< no further change is looked for after so many
    /// After so many events, half a minute, what was not asked about yet counts as too large, but for all knobs turned
    /// all the way: generation of thousands of tokens has ten million in each run. The change that is found then is
    /// turned further than it has to be.
    std::size_t events = 60'000'000;
};

/// `knobs` are in order of their price. A change is made of the cheapest knobs that suffice together, each turned no
/// further than it has to be; the next one has to do without one of them.
FoundTurns find_turns(std::span<const Knob> knobs, const TurnedRun& run, const SearchLimits& limits);

}  // namespace vramfit
