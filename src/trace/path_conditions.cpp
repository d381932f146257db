// Conditions that ask for functions are looked at last.
#include "trace/path_conditions.hpp"

#include <algorithm>
#include <tuple>

namespace vramfit {

using symbolic::Condition;
using symbolic::Polynomial;
using symbolic::Symbols;

namespace {

bool has_functions(const Symbols& symbols, const Polynomial& polynomial) {
    for (const symbolic::Term& t : polynomial)
        for (const std::uint32_t s : symbols.monomials()[t.monomial])
            if (symbols.symbols()[s].function) return true;
    return false;
}

}  // namespace

std::vector<Condition> conditions_in_order(const Symbols& symbols) {
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

bool is_met(const Condition& condition, std::int64_t value) {
    return (condition.kind == Condition::Kind::negative ? value < 0 : value == 0) == condition.holds;
}

std::vector<const Polynomial*> polynomials_of(const Symbols& symbols, std::span<const Condition> conditions) {
    std::vector<const Polynomial*> out;
    for (const Condition& c : conditions) out.push_back(&symbols.expressions()[c.expression].polynomial);
    return out;
}

}  // namespace vramfit
