// Comparison of rows and the proofs drawn from it.
#include "sweep/dominance.hpp"

namespace vramfit {

bool dominates(const SweepSpace& space, std::size_t large, std::size_t small) {
    const Coordinates a = coordinates_of(space, large);
    const Coordinates b = coordinates_of(space, small);
    return a.target == b.target && space.ranks[a.rank] >= space.ranks[b.rank] &&
           space.batches[a.batch] >= space.batches[b.batch] && space.lengths[a.length] >= space.lengths[b.length];
}

std::optional<std::size_t> DominanceClass::proof_too_large(std::size_t row) const {
    for (const std::size_t known : too_large_)
        if (dominates(*space_, row, known)) return known;
    return std::nullopt;
}

}  // namespace vramfit
