// Allocations and frees as one sequence of signed sizes, of a snapshot and of a program, with the bytes held at each.
#pragma once

#include <cstdint>
#include <vector>

#include "vramfit/snapshot/snapshot.hpp"
#include "vramfit/trace/program.hpp"

namespace vramfit::snapshot {

/// An allocation (positive) or a free (negative), of so many bytes; none has zero.
using Token = std::int64_t;

struct SeenSequence {
    std::vector<Token> tokens;
    std::vector<std::size_t> entries;  ///< by token: of the snapshot
    std::vector<std::int64_t> held;    ///< requested bytes before each token, and at the end
    std::vector<std::int64_t> live;    ///< sizes that are held before the first token
};

SeenSequence sequence_of(const Snapshot& snapshot);

/// The program's sequence; its last step may be repeated.
struct PredictedSequence {
    std::vector<Token> tokens;
    std::vector<std::size_t> events;   ///< by token: of the program
    std::vector<std::size_t> windows;  ///< by token
    std::vector<std::int64_t> held;    ///< before each token, and at the end
    std::size_t load_end = 0;          ///< tokens up to the end of loading
    std::size_t step_begin = 0;        ///< of the last step
    std::size_t step_end = 0;          ///< equal to step_begin: no step that could be repeated

    std::size_t period() const { return step_end - step_begin; }
    /// Where a place lies if the last step is repeated for ever.
    std::size_t base(std::size_t place) const {
        return place < step_end || period() == 0 ? place : step_begin + (place - step_end) % period();
    }
    std::int64_t repetition(std::size_t place) const {
        if (place < step_end || period() == 0) return 0;
        return 1 + static_cast<std::int64_t>((place - step_end) / period());
    }
    /// Whether there is such a place; the tail behind the last step has none.
    bool has(std::size_t place) const { return period() > 0 || place < step_end; }
    Token at(std::size_t place) const { return tokens[base(place)]; }
};

PredictedSequence sequence_of(const Program& program);

}  // namespace vramfit::snapshot
