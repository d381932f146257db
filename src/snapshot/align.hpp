// Lays a recorded sequence over the predicted one: where they begin together, and what differs from there on.
#pragma once

#include <cstddef>
#include <vector>

#include "snapshot/sequence.hpp"

namespace vramfit::snapshot {

/// Tokens that one side has and the other has not: [seen, seen_end) instead of [place, place_end). Places are those of
/// a prediction whose last step is repeated for ever; behind `Alignment::tail_from` those of the tail.
struct Hunk {
    std::size_t seen = 0;
    std::size_t seen_end = 0;
    std::size_t place = 0;
    std::size_t place_end = 0;
    bool in_tail = false;
};

struct Alignment {
    bool found = false;
    std::size_t seen_begin = 0;  ///< first token that is compared
    std::size_t place_begin = 0;
    std::size_t place_end = 0;  ///< behind the last that is compared, if it is in no tail
    bool in_tail = false;       ///< the end lies behind the last step
    std::size_t tail_end = 0;   ///< then: a place of the program itself
    std::size_t equal = 0;      ///< tokens that stand on both sides
    std::vector<Hunk> hunks;    ///< in order
};

Alignment align(const SeenSequence& seen, const PredictedSequence& predicted);

}  // namespace vramfit::snapshot
