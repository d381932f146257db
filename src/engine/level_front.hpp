// The moments of a run that may be its highest, while it is recorded as a formula.
#pragma once

#include <cstdint>
#include <vector>

#include "symbolic/symbols.hpp"
#include "trace/formula.hpp"

namespace vramfit::engine {

/// Follows the requested bytes as a polynomial, and keeps the instants that no other one exceeds everywhere.
class LevelFront {
  public:
    explicit LevelFront(const symbolic::Symbols& symbols) : symbols_(symbols) {}

    void grow(Size bytes, const Phase& phase);
    void shrink(Size bytes);
    /// The instants in the order of the run.
    std::vector<FormulaInstant> take();

  private:
    /// The level at three corners of the axes: here, where all are smallest, where all are largest.
    struct Corners {
        std::int64_t here = 0;
        double low = 0;
        double high = 0;
    };
    struct Candidate {
        std::vector<std::int64_t> coefficients;  ///< by monomial
        Corners corners;
        Phase at;
        std::size_t number = 0;
    };

    void change(Size bytes, std::int64_t sign);
    void look();
    void drop_between();
    /// Whether a is at least b and `by` more for all values of the axes.
    bool exceeds(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b, std::int64_t by) const;
    /// Whether it may, by its corners.
    static bool may_exceed(const Corners& a, const Corners& b);

    const symbolic::Symbols& symbols_;
    std::vector<std::int64_t> level_;  ///< coefficients by monomial
    Corners corners_;
    Phase phase_;
    bool rising_ = false;
    std::size_t looked_ = 0;
    std::vector<Candidate> front_;  ///< the largest here first
    std::size_t last_cover_ = 0;    ///< place of the one that exceeded an instant last: likely to exceed the next
};

}  // namespace vramfit::engine
