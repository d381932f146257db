// Conditions and instants of a recording, ready for rows.
#include "trace/formula.hpp"

#include <algorithm>
#include <tuple>

namespace vramfit {

using symbolic::Condition;
using symbolic::Polynomial;
using symbolic::Symbols;

namespace {

/// Whether a polynomial asks for functions: those are looked at last.
bool has_functions(const Symbols& symbols, const Polynomial& polynomial) {
    for (const symbolic::Term& t : polynomial)
        for (const std::uint32_t s : symbols.monomials()[t.monomial])
            if (symbols.symbols()[s].function) return true;
    return false;
}

/// The conditions without repetition, those of plain polynomials first.
std::vector<Condition> in_order(const Symbols& symbols) {
    const auto key = [&symbols](const Condition& c) {
        return std::tuple(has_functions(symbols, symbols.expressions()[c.expression].polynomial), c.expression, c.kind);
    };
    std::vector<Condition> out = symbols.conditions();
    std::sort(out.begin(), out.end(), [&key](const Condition& a, const Condition& b) { return key(a) < key(b); });
    const auto same = [](const Condition& a, const Condition& b) {
        return a.expression == b.expression && a.kind == b.kind;
    };
    out.erase(std::unique(out.begin(), out.end(), same), out.end());
    return out;
}

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
    std::vector<const Polynomial*> out;
    for (const Condition& c : conditions) out.push_back(&symbols.expressions()[c.expression].polynomial);
    for (const FormulaInstant& i : instants) out.push_back(&i.bytes);
    for (const Polynomial& floor : floors) out.push_back(&floor);
    return out;
}

}  // namespace

Formula::Formula(const Symbols& symbols, std::vector<FormulaInstant> instants)
    : Formula(symbols, instants, in_order(symbols), floors_of(symbols, instants)) {}

Formula::Formula(const Symbols& symbols, const std::vector<FormulaInstant>& instants,
                 const std::vector<Condition>& conditions, const std::vector<Polynomial>& floors)
    : floors_(floors.size()), evaluation_(symbols, all_of(symbols, conditions, instants, floors)) {
    for (const Condition& c : conditions) conditions_.push_back({conditions_.size(), c.kind, c.holds});
    for (const FormulaInstant& i : instants) phases_.push_back(i.at);
}

bool Formula::covers(Row& row) const {
    for (const Check& c : conditions_) {
        const std::int64_t value = evaluation_.value(row, c.polynomial);
        if ((c.kind == Condition::Kind::negative ? value < 0 : value == 0) != c.holds) return false;
    }
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

std::int64_t Formula::floor(Row& row) const {
    std::int64_t out = 0;
    for (std::size_t i = 0; i < floors_; ++i)
        out = std::max(out, evaluation_.value(row, conditions_.size() + phases_.size() + i));
    return out;
}

}  // namespace vramfit
