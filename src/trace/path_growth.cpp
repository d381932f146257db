// Signs of terms: what grows along every axis, and what shrinks along every axis.
#include "trace/path_growth.hpp"

#include <algorithm>

namespace vramfit {

using symbolic::Condition;
using symbolic::Polynomial;
using symbolic::Symbols;

namespace {

bool grows(const Symbols& symbols, const Polynomial& polynomial, bool upwards) {
    return std::all_of(polynomial.begin(), polynomial.end(), [&](const symbolic::Term& t) {
        return t.monomial == 0 || ((t.coefficient > 0) == upwards && symbols.is_monotone(t.monomial));
    });
}

bool all_grow(const Symbols& symbols, const std::vector<FormulaInstant>& instants) {
    return std::all_of(instants.begin(), instants.end(),
                       [&symbols](const FormulaInstant& i) { return grows(symbols, i.bytes, true); });
}

bool all_monotone(const Symbols& symbols) {
    const auto& conditions = symbols.conditions();
    return std::all_of(conditions.begin(), conditions.end(), [&symbols](const Condition& c) {
        const Polynomial& polynomial = symbols.expressions()[c.expression].polynomial;
        return grows(symbols, polynomial, true) || grows(symbols, polynomial, false);
    });
}

std::vector<const Polynomial*> inequalities_of(const Symbols& symbols) {
    std::vector<const Polynomial*> out;
    for (const Condition& c : symbols.conditions())
        if (c.kind == Condition::Kind::zero && !c.holds) out.push_back(&symbols.expressions()[c.expression].polynomial);
    return out;
}

}  // namespace

PathGrowth::PathGrowth(const Symbols& symbols, const std::vector<FormulaInstant>& instants)
    : rises_(all_grow(symbols, instants) && all_monotone(symbols)), inequality_(symbols, inequalities_of(symbols)) {}

// A monotone expression between two values of one sign has that sign, and between two zeros it is zero.
bool PathGrowth::proves(std::span<const std::int64_t> low, std::span<const std::int64_t> high) const {
    if (!rises_) return false;
    symbolic::Evaluation::Row a, b;
    inequality_.begin(a, low);
    inequality_.begin(b, high);
    for (std::size_t i = 0; i < inequality_.size(); ++i)
        if ((inequality_.value(a, i) < 0) != (inequality_.value(b, i) < 0)) return false;
    return true;
}

}  // namespace vramfit
