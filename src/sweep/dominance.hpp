// What one row says about another: rows of one class record the same events with sizes that grow along the axes.
//
// Two plans of equal signature record the same sequence of allocations and frees, and every size is a polynomial with
// non-negative coefficients in batch, length and rank (sizes for which that does not hold are decisions, and so part of
// the signature). If no axis of `b` is smaller than that of `a`, every prefix of b's program holds at least as many
// requested bytes, hence so does its highest moment. It is argued on requested bytes alone.
//
// Optimizer states that leave the allocator for managed memory at a size (bitsandbytes' paged optimizers) break this
// for requested bytes, so two bounds are kept: `lower` counts no optimizer state that could be paged, `upper` counts
// them all. Both are monotone within a class.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "vramfit/sweep/space.hpp"

namespace vramfit {

/// What is known of a recorded row.
struct Recorded {
    std::int64_t requested = 0;  ///< highest moment
    std::int64_t upper = 0;      ///< the same with managed memory counted
    std::int64_t lower = 0;      ///< a lower bound that also holds for every row that dominates it
};

/// Rows that may be compared with each other, and what is known of them.
class DominanceClass {
  public:
    explicit DominanceClass(const SweepSpace& space) : space_(&space) {}

    void add(std::size_t row) { rows_.push_back(row); }
    const std::vector<std::size_t>& rows() const { return rows_; }
    void learn(std::size_t row, const Recorded& recorded) { known_.push_back({row, recorded}); }

    /// A recorded row that `row` dominates and that needs more than `limit`: `row` needs more, too.
    std::optional<std::size_t> proof_too_large(std::size_t row, std::int64_t limit) const;
    /// A recorded row that dominates `row` and needs less than `limit`: `row` needs less, too.
    std::optional<std::size_t> proof_below(std::size_t row, std::int64_t limit) const;

  private:
    struct Known {
        std::size_t row;
        Recorded recorded;
    };
    const SweepSpace* space_;
    std::vector<std::size_t> rows_;
    std::vector<Known> known_;
};

/// No axis of `small` is larger than that of `large` (batch, length, rank; the targets must be equal).
bool dominates(const SweepSpace& space, std::size_t large, std::size_t small);

}  // namespace vramfit
