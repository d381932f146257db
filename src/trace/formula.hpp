// What a run needs at its highest moment, as a formula of batch, length and rank, and where the formula holds.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "symbolic/evaluation.hpp"
#include "vramfit/trace/phase.hpp"

namespace vramfit {

/// A moment of a run that may be its highest: requested bytes as a polynomial.
struct FormulaInstant {
    symbolic::Polynomial bytes;
    Phase at;
};

/// The highest moment of one row.
struct Highest {
    std::int64_t requested = 0;
    Phase at;
};

/// The maximum over a few instants, exact for every row that takes the recorded path.
class Formula {
  public:
    Formula(const symbolic::Symbols& symbols, std::vector<FormulaInstant> instants);

    /// A row's values; reused from row to row.
    using Row = symbolic::Evaluation::Row;
    void begin(Row& row, std::span<const std::int64_t> axes) const { evaluation_.begin(row, axes); }
    /// Whether the row that has begun meets every condition of the recorded path.
    bool covers(Row& row) const;
    Highest highest(Row& row) const;
    /// The same of all moments but those of one kind, as far as they are known: a bound from below.
    std::int64_t highest_but_in(Row& row, PhaseKind kind) const;
    /// A bound from below of the highest moment that cannot shrink along an axis while the path stays the same.
    std::int64_t floor(Row& row) const;

  private:
    Formula(const symbolic::Symbols& symbols, const std::vector<FormulaInstant>& instants,
            const std::vector<symbolic::Condition>& conditions, const std::vector<symbolic::Polynomial>& floors);

    std::vector<symbolic::Condition> conditions_;
    std::vector<Phase> phases_;  ///< of the instants, whose polynomials follow those of the conditions
    std::size_t floors_ = 0;     ///< and after them their floors
    symbolic::Evaluation evaluation_;
};

}  // namespace vramfit
