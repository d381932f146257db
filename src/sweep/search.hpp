// Finds what the rows of one set of targets request: by the formula of their path, or not at all where dominance rules
// them out.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "sweep/dominance.hpp"
#include "sweep/formulas.hpp"
#include "sweep/leaner_rows.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/sweep/sweep.hpp"

namespace vramfit {

/// Settles the rows of a question's space that share a set of targets, but for their replay. Rows are numbered as in
/// the space. Searches have nothing in common: they may run at once.
class Search {
  public:
    /// `left_out` says which rows are not swept: outside or open. Throws Error for what makes all rows impossible.
    using LeftOut = std::function<std::optional<RowStatus>(std::size_t row)>;
    /// `rows` are those to fill, of this set of targets. `take` is asked who takes the programs of paths
    /// (TargetFormulas).
    Search(const SweepQuestion& question, std::size_t target, std::span<SweepRow> rows, const SweepOptions& options,
           const LeftOut& left_out, std::function<TargetFormulas::TakeProgram()> take);

    /// Whether a row is to be settled.
    bool any_valid() const { return any_valid_; }
    /// Why the first invalid row is that.
    const std::optional<Error>& problem() const { return problem_; }

    /// `settled` is called after each row; where it returns false, the rest is left open.
    void settle(const std::function<bool()>& settled);

    const Notes& notes() const { return notes_; }
    /// Runs of the engine.
    std::size_t recorded() const { return formulas_ ? formulas_->recorded() : recorded_; }

  private:
    void validate(const LeftOut& left_out);
    void note(const Notes& notes);
    std::vector<std::size_t> by_rising_axes() const;
    const Peak* peak_at(const Phase& at);
    SweepRow& at(std::size_t row) { return rows_[row - first_]; }
    void settle(std::size_t row);
    void set(SweepRow& row, std::int64_t requested, const Phase& at, const BesideLoss& beside_loss);

    const SweepQuestion& question_;
    bool dominance_;
    std::int64_t limit_;
    std::vector<const Peak*> peaks_;
    std::vector<std::pair<Phase, const Peak*>> known_peaks_;
    std::size_t first_;  ///< row of the targets
    std::span<SweepRow> rows_;
    bool any_valid_ = false;
    std::optional<Error> problem_;
    Notes notes_;
    std::size_t recorded_ = 0;
    std::optional<TargetFormulas> formulas_;  ///< absent: every row is recorded by itself
    std::vector<DominanceClass> classes_;     ///< by formula
};

}  // namespace vramfit
