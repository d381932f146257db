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
        depends_.push_back(static_cast<Axes>(1u << axes_));
        places_[s] = static_cast<std::uint32_t>(axes_++);
        functions_.push_back({});
    }
    sums_.reserve(polynomials.size());
    for (const Polynomial* p : polynomials) {
        sums_.push_back(lay_out(symbols, *p));
        sums_depend_.push_back(axes_of(sums_.back()));
    }
}

Evaluation::Axes Evaluation::axes_of(Sum sum) const {
    Axes out = 0;
    for (std::uint32_t i = sum.first; i < sum.last; ++i)
        for (std::uint32_t f = products_[i].first; f < products_[i].last; ++f)
            out = static_cast<Axes>(out | depends_[factors_[f]]);
    return out;
}

std::uint32_t Evaluation::place_of(const Symbols& symbols, std::uint32_t symbol) {
    if (places_[symbol] != kUnused) return places_[symbol];
    const Symbol& s = symbols.symbols()[symbol];
    Function f{s.function, s.context, {}, {}};
    Axes depends = 0;
    for (const Size argument : s.arguments) {
        const auto place = static_cast<std::uint32_t>(f.numbers.size());
        f.numbers.push_back(argument.is_symbolic() ? 0 : argument.bits());
        if (!argument.is_symbolic()) continue;
        f.arguments.push_back({place, lay_out(symbols, symbols.polynomial_of(argument))});
        depends = static_cast<Axes>(depends | axes_of(f.arguments.back().sum));
    }
    functions_.push_back(std::move(f));
    depends_.push_back(depends);
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
    if (row.values.size() != functions_.size() || row.sums.size() != sums_.size()) {
        row.values.assign(functions_.size(), 0);
        row.known.assign(functions_.size(), false);
        row.sums.assign(sums_.size(), 0);
        row.summed.assign(sums_.size(), false);
    }
    unsigned changed = 0;
    for (std::size_t i = 0; i < axes_; ++i) {
        if (!row.known[i] || row.values[i] != axes[i]) changed |= 1u << i;
        row.values[i] = axes[i];
        row.known[i] = true;
    }
    for (std::size_t i = axes_; i < depends_.size(); ++i)
        if ((depends_[i] & changed) != 0) row.known[i] = false;
    for (std::size_t i = 0; i < sums_depend_.size(); ++i)
        if ((sums_depend_[i] & changed) != 0) row.summed[i] = false;
}

std::int64_t Evaluation::symbol_value(Row& row, std::uint32_t place) const {
    if (row.known[place]) return row.values[place];
    const Function& f = functions_[place];
    std::int64_t arguments[kMostArguments];
    std::copy(f.numbers.begin(), f.numbers.end(), arguments);
    for (const Function::Argument& argument : f.arguments) arguments[argument.place] = evaluate(row, argument.sum);
    row.values[place] = f.function(f.context, {arguments, f.numbers.size()});
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

std::int64_t Evaluation::value(Row& row, std::size_t index) const {
    if (row.summed[index]) return row.sums[index];
    row.sums[index] = evaluate(row, sums_[index]);
    row.summed[index] = true;
    return row.sums[index];
}

}  // namespace vramfit::symbolic
