// Finds what every row of a space requests: by the formula of its path, or not at all where dominance rules it out.
#pragma once

#include <optional>
#include <vector>

#include "sweep/dominance.hpp"
#include "sweep/formulas.hpp"
#include "vramfit/sweep/sweep.hpp"

namespace vramfit {

/// Settles all rows of a space but for their replay.
class Search {
  public:
    Search(const SweepQuestion& question, const SweepOptions& options, SweepResult& result);

    void settle();
    /// Simulated rows that need at most the limit, the largest first (ties: smaller number first).
    std::vector<std::size_t> candidates() const;

  private:
    void validate();
    void note(const Notes& notes);
    void settle(std::size_t row);
    void set(SweepRow& row, std::int64_t requested, const Phase& at) const;

    const SweepQuestion& question_;
    const SweepOptions& options_;
    SweepResult& result_;
    std::int64_t limit_;
    std::optional<SpaceFormulas> formulas_;  ///< absent: every row is recorded by itself
    std::vector<DominanceClass> classes_;    ///< by formula
};

}  // namespace vramfit
