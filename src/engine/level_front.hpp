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
        std::vector<std::int64_t> coefficients;  ///< by slot
        Corners corners;
        Phase at;
        std::size_t number = 0;
    };

    /// An instant that is likely to exceed the next one, and how far it does, kept while the level changes.
    struct Cover {
        static constexpr std::size_t kNone = ~std::size_t{0};
        std::size_t place = kNone;         ///< in the front
        __extension__ __int128 least = 0;  ///< what the difference is at least, of the terms with bounds
        std::size_t unbounded = 0;         ///< terms without
    };

    void change(Size bytes, std::int64_t sign);
    void change(std::size_t slot, std::int64_t count);
    std::size_t slot_of(symbolic::MonomialId monomial);
    void look();
    void cover_by(std::size_t place);
    /// Adds what `more` of a slot's monomial is at least.
    void add_least(Cover& cover, std::size_t slot, std::int64_t more, int sign) const;
    void drop_between();
    /// Whether a is at least b and `by` more for all values of the axes.
    bool exceeds(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b, std::int64_t by) const;
    /// Whether it may, by its corners.
    static bool may_exceed(const Corners& a, const Corners& b);

    const symbolic::Symbols& symbols_;
    std::vector<std::uint32_t> slots_;             ///< by monomial; kNoSlot: in no size so far
    std::vector<symbolic::MonomialId> monomials_;  ///< by slot
    std::vector<symbolic::Range> ranges_;          ///< by slot
    std::vector<std::int64_t> level_ = {};         ///< coefficients by slot
    Corners corners_;
    Phase phase_;
    bool rising_ = false;
    std::size_t looked_ = 0;
    std::vector<Candidate> front_;  ///< the largest here first
    Cover cover_;
};

}  // namespace vramfit::engine
