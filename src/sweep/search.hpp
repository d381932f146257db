// Finds what every row of a space requests: by the formula of its path, or not at all where dominance rules it out.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "sweep/dominance.hpp"
#include "sweep/formulas.hpp"
#include "vramfit/sweep/sweep.hpp"

namespace vramfit {

/// Settles all rows of one question's space but for their replay. Rows are numbered from 0.
class Search {
  public:
    /// `left_out` says which rows are not swept: outside or open. Throws Error if there are others and none of them is
    /// valid, or what makes all of them impossible.
    using LeftOut = std::function<std::optional<RowStatus>(std::size_t row)>;
    Search(const SweepQuestion& question, const SweepOptions& options, const LeftOut& left_out);

    /// `settled` is called after each row; where it returns false, the rest is left open.
    void settle(const std::function<bool()>& settled);

    std::vector<SweepRow> take_rows() { return std::move(rows_); }
    const Notes& notes() const { return notes_; }
    std::size_t recorded() const { return formulas_ ? formulas_->recorded() : recorded_; }

  private:
    void validate(const LeftOut& left_out);
    void note(const Notes& notes);
    void settle(std::size_t row);
    void set(SweepRow& row, std::int64_t requested, const Phase& at) const;

    const SweepQuestion& question_;
    bool dominance_;
    std::int64_t limit_;
    std::vector<const Peak*> peaks_;
    std::vector<SweepRow> rows_;
    Notes notes_;
    std::size_t recorded_ = 0;
    std::optional<SpaceFormulas> formulas_;  ///< absent: every row is recorded by itself
    std::vector<DominanceClass> classes_;    ///< by formula
};

}  // namespace vramfit
