// What one row says about another: rows of one path have the same events, with sizes that grow along the axes.
//
// A formula's floor has only terms that cannot shrink where batch, length or rank grow (trace/formula.hpp). If no axis
// of `b` is smaller than that of `a` and both take the formula's path, b needs at least a's floor. It is argued on
// requested bytes alone. Optimizer states that leave the allocator for managed memory at a size (bitsandbytes' paged
// optimizers) are not part of a floor.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "vramfit/sweep/space.hpp"

namespace vramfit {

/// Rows of one formula whose floor is above the limit, as far as none follows from another.
class DominanceClass {
  public:
    explicit DominanceClass(const SweepSpace& space) : space_(&space) {}

    void add_too_large(std::size_t row) { too_large_.push_back(values_of(row)); }
    /// A row of the same targets whose floor is too large and of which no axis is larger than that of `row`, the last
    /// one added: `row` is too large, too.
    std::optional<std::size_t> proof_too_large(std::size_t row) const;

  private:
    struct Values {
        std::size_t row;
        std::int64_t rank, batch, length;
    };
    Values values_of(std::size_t row) const;

    const SweepSpace* space_;
    std::vector<Values> too_large_;
};

}  // namespace vramfit
