// Comparison of rows and the proofs drawn from it.
#include "sweep/dominance.hpp"

#include <algorithm>

namespace vramfit {

DominanceClass::Values DominanceClass::values_of(std::size_t row) const {
    const Coordinates c = coordinates_of(*space_, row);
    return {row, space_->ranks[c.rank], space_->batches[c.batch], space_->lengths[c.length]};
}

std::optional<std::size_t> DominanceClass::proof_too_large(std::size_t row) const {
    if (too_large_.empty()) return std::nullopt;
    const Values large = values_of(row);
    const auto known = std::find_if(too_large_.rbegin(), too_large_.rend(), [&large](const Values& small) {
        return large.rank >= small.rank && large.batch >= small.batch && large.length >= small.length;
    });
    return known == too_large_.rend() ? std::nullopt : std::optional(known->row);
}

}  // namespace vramfit
