// Conditions and instants of a recording, ready for rows.
#include "trace/formula.hpp"

#include <algorithm>

#include "trace/path_conditions.hpp"

namespace vramfit {

using symbolic::Condition;
using symbolic::Polynomial;
using symbolic::Symbols;

namespace {

/// The terms that cannot shrink along an axis, of polynomials that have no others but positive ones: those that come
/// and go (states that are paged) only add to it.
std::vector<Polynomial> floors_of(const Symbols& symbols, const std::vector<FormulaInstant>& instants) {
    std::vector<Polynomial> out;
    for (const FormulaInstant& instant : instants) {
        Polynomial floor;
        bool bounded = true;
        for (const symbolic::Term& t : instant.bytes) {
            if (symbols.is_monotone(t.monomial) && (t.coefficient > 0 || t.monomial == 0))
                floor.push_back(t);
            else
                bounded = bounded && t.coefficient > 0 && symbols.monomial_ranges()[t.monomial].low >= 0;
        }
        if (bounded) out.push_back(std::move(floor));
    }
    return out;
}

std::vector<const Polynomial*> all_of(const Symbols& symbols, const std::vector<Condition>& conditions,
                                      const std::vector<FormulaInstant>& instants,
                                      const std::vector<Polynomial>& floors) {
    std::vector<const Polynomial*> out = polynomials_of(symbols, conditions);
    for (const FormulaInstant& i : instants) out.push_back(&i.bytes);
    for (const Polynomial& floor : floors) out.push_back(&floor);
    return out;
}

}  // namespace

Formula::Formula(const Symbols& symbols, std::vector<FormulaInstant> instants)
    : Formula(symbols, instants, conditions_in_order(symbols), floors_of(symbols, instants)) {}

Formula::Formula(const Symbols& symbols, const std::vector<FormulaInstant>& instants,
                 const std::vector<Condition>& conditions, const std::vector<Polynomial>& floors)
    : conditions_(conditions),
      floors_(floors.size()),
      evaluation_(symbols, all_of(symbols, conditions, instants, floors)) {
    for (const FormulaInstant& i : instants) phases_.push_back(i.at);
}

bool Formula::covers(Row& row) const {
    for (std::size_t i = 0; i < conditions_.size(); ++i)
        if (!is_met(conditions_[i], evaluation_.value(row, i))) return false;
    return true;
}

// The first of equals, as in a recording.
Highest Formula::highest(Row& row) const {
    Highest out;
    for (std::size_t i = 0; i < phases_.size(); ++i) {
        const std::int64_t value = evaluation_.value(row, conditions_.size() + i);
        if (value > out.requested) out = {value, phases_[i]};
    }
    return out;
}

std::int64_t Formula::highest_but_in(Row& row, PhaseKind kind) const {
    std::int64_t out = 0;
    for (std::size_t i = 0; i < phases_.size(); ++i)
        if (phases_[i].kind != kind) out = std::max(out, evaluation_.value(row, conditions_.size() + i));
    return out;
}

std::int64_t Formula::floor(Row& row) const {
    std::int64_t out = 0;
    for (std::size_t i = 0; i < floors_; ++i)
        out = std::max(out, evaluation_.value(row, conditions_.size() + phases_.size() + i));
    return out;
}

}  // namespace vramfit
