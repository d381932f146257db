// Finds the rows with the most requested bytes that do not exceed the card, looking at as few rows as it can.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "sweep/dominance.hpp"
#include "sweep/estimate.hpp"
#include "vramfit/sweep/sweep.hpp"

namespace vramfit {

/// The state of a sweep in progress. Rows are open until they are recorded, ruled out or invalid.
class Search {
  public:
    Search(const SweepQuestion& question, const SweepOptions& options, SweepResult& result);

    /// Settles rows until the `wanted` rows with the most requested bytes up to the limit are certain. Rows that were
    /// only outranked before are looked at again when more are wanted.
    void settle(std::size_t wanted);

    /// Recorded rows that need at most the limit, the largest first (ties: smaller number first).
    std::vector<std::size_t> candidates() const;

  private:
    void validate();
    void note(const Notes& notes);
    void make_classes();
    void record(std::size_t row);
    void rule_out();
    std::optional<std::size_t> next() const;
    std::int64_t threshold(std::size_t wanted) const;
    void corners();
    void report() const;

    const SweepQuestion& question_;
    const SweepOptions& options_;
    SweepResult& result_;
    std::int64_t limit_;
    std::size_t wanted_ = 0;
    std::vector<std::size_t> class_;
    std::vector<DominanceClass> classes_;
    std::vector<Estimate> estimates_;  ///< by target set
    std::set<std::size_t> open_;
    std::multiset<std::int64_t> fitting_;  ///< requested bytes of recorded rows up to the limit
};

}  // namespace vramfit
