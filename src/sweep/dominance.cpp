// Comparison of rows and the proofs drawn from it.
#include "sweep/dominance.hpp"

namespace vramfit {

bool dominates(const SweepSpace& space, std::size_t large, std::size_t small) {
    const Coordinates a = coordinates_of(space, large);
    const Coordinates b = coordinates_of(space, small);
    return a.target == b.target && space.ranks[a.rank] >= space.ranks[b.rank] &&
           space.batches[a.batch] >= space.batches[b.batch] && space.lengths[a.length] >= space.lengths[b.length];
}

std::optional<std::size_t> DominanceClass::proof_too_large(std::size_t row, std::int64_t limit) const {
    for (const Known& k : known_)
        if (k.row != row && k.recorded.lower > limit && dominates(*space_, row, k.row)) return k.row;
    return std::nullopt;
}

std::optional<std::size_t> DominanceClass::proof_below(std::size_t row, std::int64_t limit) const {
    for (const Known& k : known_)
        if (k.row != row && k.recorded.upper < limit && dominates(*space_, k.row, row)) return k.row;
    return std::nullopt;
}

}  // namespace vramfit
