// Compilation of polynomials into flat arrays, and their values.
#include "symbolic/evaluation.hpp"

#include <algorithm>

#include "vramfit/base/checked.hpp"

namespace vramfit::symbolic {

namespace {

constexpr std::uint32_t kUnused = 0xffffffffu;

}  // namespace

Evaluation::Evaluation(const Symbols& symbols, std::span<const Polynomial* const> polynomials)
    : places_(symbols.symbols().size(), kUnused) {
    for (std::size_t s = 0; s < places_.size(); ++s) {
        if (symbols.symbols()[s].function) continue;
        places_[s] = static_cast<std::uint32_t>(axes_++);
        functions_.push_back({});
    }
    sums_.reserve(polynomials.size());
    for (const Polynomial* p : polynomials) sums_.push_back(lay_out(symbols, *p));
}

std::uint32_t Evaluation::place_of(const Symbols& symbols, std::uint32_t symbol) {
    if (places_[symbol] != kUnused) return places_[symbol];
    const Symbol& s = symbols.symbols()[symbol];
    Function f{s.function, s.context, {}};
    for (const Size argument : s.arguments) f.arguments.push_back(lay_out(symbols, symbols.polynomial_of(argument)));
    functions_.push_back(std::move(f));
    return places_[symbol] = static_cast<std::uint32_t>(functions_.size() - 1);
}

Evaluation::Sum Evaluation::lay_out(const Symbols& symbols, const Polynomial& polynomial) {
    // Factors first: placing one may lay out sums of its own.
    std::vector<std::vector<std::uint32_t>> factors;
    for (const Term& t : polynomial) {
        std::vector<std::uint32_t>& own = factors.emplace_back();
        for (const std::uint32_t s : symbols.monomials()[t.monomial]) own.push_back(place_of(symbols, s));
    }
    Sum sum{static_cast<std::uint32_t>(products_.size()), 0};
    for (std::size_t i = 0; i < polynomial.size(); ++i) {
        const auto first = static_cast<std::uint32_t>(factors_.size());
        factors_.insert(factors_.end(), factors[i].begin(), factors[i].end());
        products_.push_back({polynomial[i].coefficient, first, static_cast<std::uint32_t>(factors_.size())});
    }
    sum.last = static_cast<std::uint32_t>(products_.size());
    return sum;
}

void Evaluation::begin(Row& row, std::span<const std::int64_t> axes) const {
    row.values.resize(functions_.size());
    row.known.assign(functions_.size(), false);
    for (std::size_t i = 0; i < axes_; ++i) {
        row.values[i] = axes[i];
        row.known[i] = true;
    }
}

std::int64_t Evaluation::symbol_value(Row& row, std::uint32_t place) const {
    if (row.known[place]) return row.values[place];
    const Function& f = functions_[place];
    std::int64_t arguments[kMostArguments] = {};
    for (std::size_t i = 0; i < f.arguments.size(); ++i) arguments[i] = evaluate(row, f.arguments[i]);
    row.values[place] = f.function(f.context, {arguments, f.arguments.size()});
    row.known[place] = true;
    return row.values[place];
}

std::int64_t Evaluation::evaluate(Row& row, Sum sum) const {
    std::int64_t out = 0;
    for (std::uint32_t i = sum.first; i < sum.last; ++i) {
        const Product& p = products_[i];
        std::int64_t term = p.coefficient;
        for (std::uint32_t f = p.first; f < p.last; ++f) term = checked_mul(term, symbol_value(row, factors_[f]));
        out = checked_add(out, term);
    }
    return out;
}

std::int64_t Evaluation::value(Row& row, std::size_t index) const { return evaluate(row, sums_[index]); }

}  // namespace vramfit::symbolic
