// Interning of polynomials, so that equal sizes are equal numbers, and the log of conditions.
#include "symbolic/symbols.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "symbolic/functions.hpp"
#include "vramfit/base/checked.hpp"

namespace vramfit::symbolic {

namespace {

template <class T>
std::string key_of(const std::vector<T>& values) {
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

std::uint64_t mixed(std::uint64_t hash, std::uint64_t word) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
    return hash ^ (hash >> 29);
}

Size symbol_at(std::size_t index) { return Size(kFirstSymbol + static_cast<std::int64_t>(index)); }

/// Ranges of quotients of numbers that are not negative.
Range quotient_range(Range a, Range b) {
    Range out;
    const std::int64_t smallest = std::max<std::int64_t>(b.low, 1);
    out.low = std::max<std::int64_t>(a.low, 0) / std::max<std::int64_t>(b.high, 1);
    if (a.high < Range::kNone) out.high = a.high / smallest;
    return out;
}

bool contains(const Range& range, std::int64_t number) { return range.low <= number && number <= range.high; }

Range larger_range(Range a, Range b) { return {std::max(a.low, b.low), std::max(a.high, b.high)}; }

}  // namespace

bool is_rising(const Symbol& symbol) {
    if (symbol.function == is_less && !symbol.arguments[0].is_symbolic()) return true;
    return symbol.function == largest || (symbol.function == quotient && !symbol.arguments[1].is_symbolic());
}

Symbols::Symbols() : memo_(1 << 12) {
    monomial({});
    products_.reserve(256);
    ids_.reserve(1024);
}

MonomialId Symbols::monomial(std::vector<std::uint32_t> symbols) {
    const auto [at, fresh] = monomial_ids_.emplace(key_of(symbols), static_cast<MonomialId>(monomials_.size()));
    if (!fresh) return at->second;
    Range range{1, 1};
    Corners corners;
    for (const std::uint32_t s : symbols) {
        const Symbol& symbol = symbols_[s];
        range = range * symbol.range;
        corners.low *= static_cast<double>(symbol.range.low > -Range::kNone ? symbol.range.low : symbol.value);
        corners.high *= static_cast<double>(symbol.range.high < Range::kNone ? symbol.range.high : symbol.value);
    }
    monomial_corners_.push_back(corners);
    monomials_.push_back(std::move(symbols));
    monomial_ranges_.push_back(range);
    return at->second;
}

MonomialId Symbols::product(MonomialId a, MonomialId b) {
    if (a == 0) return b;
    if (b == 0) return a;
    const auto [at, fresh] = products_.emplace(std::uint64_t{std::min(a, b)} << 32 | std::max(a, b), 0);
    if (!fresh) return at->second;
    std::vector<std::uint32_t> symbols(monomials_[a].size() + monomials_[b].size());
    std::merge(monomials_[a].begin(), monomials_[a].end(), monomials_[b].begin(), monomials_[b].end(), symbols.begin());
    return at->second = monomial(std::move(symbols));
}

std::int64_t Symbols::value_of_monomial(MonomialId id) const {
    std::int64_t out = 1;
    for (const std::uint32_t s : monomials_[id]) out = checked_mul(out, symbols_[s].value);
    return out;
}

bool Symbols::is_monotone(MonomialId id) const {
    return std::all_of(monomials_[id].begin(), monomials_[id].end(), [this](std::uint32_t index) {
        const Symbol& s = symbols_[index];
        if (!s.function) return true;
        return is_rising(s) && std::all_of(s.arguments.begin(), s.arguments.end(), [this](Size argument) {
                   const Polynomial terms = polynomial_of(argument);
                   return std::all_of(terms.begin(), terms.end(), [this](const Term& t) {
                       return t.monomial == 0 || (t.coefficient > 0 && is_monotone(t.monomial));
                   });
               });
    });
}

Range Symbols::range_of(const Polynomial& polynomial) const {
    Range out{0, 0};
    for (const Term& t : polynomial) out = out + monomial_ranges_[t.monomial] * Range{t.coefficient, t.coefficient};
    return out;
}

Range Symbols::range_of(Size size) const {
    return size.is_symbolic() ? expressions_[index_of(size)].range : Range{size.bits(), size.bits()};
}

Size Symbols::intern(Polynomial polynomial) {
    if (polynomial.empty()) return 0;
    if (polynomial.size() == 1 && polynomial[0].monomial == 0) return polynomial[0].coefficient;
    // Padding inside of a term is written as zeros: terms are copied into words.
    std::vector<std::int64_t> words;
    words.reserve(2 * polynomial.size());
    for (const Term& t : polynomial) {
        words.push_back(t.monomial);
        words.push_back(t.coefficient);
    }
    const auto [at, fresh] = ids_.emplace(key_of(words), static_cast<std::uint32_t>(expressions_.size()));
    if (!fresh) return symbol_at(at->second);
    Expression e;
    for (const Term& t : polynomial)
        e.value = checked_add(e.value, checked_mul(t.coefficient, value_of_monomial(t.monomial)));
    e.range = range_of(polynomial);
    e.polynomial = std::move(polynomial);
    expressions_.push_back(std::move(e));
    return symbol_at(expressions_.size() - 1);
}

Size Symbols::axis(std::int64_t value, std::int64_t low, std::int64_t high) {
    if (low == high) return value;
    symbols_.push_back({value, {low, high}, {}, nullptr, {}});
    return intern({{monomial({static_cast<std::uint32_t>(symbols_.size() - 1)}), 1}});
}

std::int64_t Symbols::value_of(Size size) const {
    return size.is_symbolic() ? expressions_[index_of(size)].value : size.bits();
}

Polynomial Symbols::polynomial_of(Size size) const {
    if (size.is_symbolic()) return expressions_[index_of(size)].polynomial;
    if (size.bits() == 0) return {};
    return {{0, size.bits()}};
}

void Symbols::remember(Memo op, Size a, Size b, std::int64_t result) {
    if (++memo_used_ * 2 > memo_.size()) {
        std::vector<MemoEntry> old(memo_.size() * 2);
        old.swap(memo_);
        for (const MemoEntry& e : old)
            if (e.used) memo(e.op, e.a, e.b) = e;
    }
    memo(op, a, b) = {a.bits(), b.bits(), result, op, true};
}

Size Symbols::add(Size a, Size b, std::int64_t factor) {
    if (b.bits() == 0) return a;
    const Memo op = factor < 0 ? Memo::subtract : Memo::add;
    if (const MemoEntry& e = memo(op, a, b); e.used) return e.result;
    const Size out = intern(sum(polynomial_of(a), polynomial_of(b), factor));
    remember(op, a, b, out.bits());
    return out;
}

Size Symbols::multiply(Size a, Size b) {
    if (const MemoEntry& e = memo(Memo::multiply, a, b); e.used) return e.result;
    return multiply_anew(a, b);
}

Size Symbols::multiply_anew(Size a, Size b) {
    const Polynomial left = polynomial_of(a);
    Polynomial out;
    for (const Term& t : polynomial_of(b)) {
        Polynomial part;
        part.reserve(left.size());
        for (const Term& u : left)
            part.push_back({product(u.monomial, t.monomial), checked_mul(u.coefficient, t.coefficient)});
        std::sort(part.begin(), part.end(), [](const Term& x, const Term& y) { return x.monomial < y.monomial; });
        out = sum(out, part, 1);
    }
    const Size result = intern(std::move(out));
    remember(Memo::multiply, a, b, result.bits());
    return result;
}

/// Division by a single term that divides every other one, or by a sum of which the dividend is a multiple: one term
/// times it (B (S + 20) 512 by B (S + 20)).
bool Symbols::divide_exactly(Size a, Size b, Size& out) {
    const Polynomial divisor = polynomial_of(b);
    if (divisor.empty() || value_of(b) == 0) return false;
    if (divisor.size() > 1) {
        for (const Term& term : polynomial_of(a)) {
            Size factor;
            if (!divide_exactly(intern({term}), intern({divisor[0]}), factor)) continue;
            const bool may_be = checked_mul(value_of(b), value_of(a) / value_of(b)) == value_of(a) &&
                                value_of(factor) == value_of(a) / value_of(b);
            if (!may_be || !same(multiply(factor, b), a)) continue;
            out = factor;
            return true;
        }
        return false;
    }
    const std::vector<std::uint32_t> by = monomials_[divisor[0].monomial];
    Polynomial terms;
    for (const Term& t : polynomial_of(a)) {
        const std::vector<std::uint32_t>& symbols = monomials_[t.monomial];
        if (t.coefficient % divisor[0].coefficient != 0 ||
            !std::includes(symbols.begin(), symbols.end(), by.begin(), by.end()))
            return false;
        std::vector<std::uint32_t> rest;
        std::set_difference(symbols.begin(), symbols.end(), by.begin(), by.end(), std::back_inserter(rest));
        terms.push_back({monomial(std::move(rest)), t.coefficient / divisor[0].coefficient});
    }
    std::sort(terms.begin(), terms.end(), [](const Term& x, const Term& y) { return x.monomial < y.monomial; });
    out = intern(std::move(terms));
    return true;
}

Size Symbols::divide(Size a, Size b) {
    if (b.bits() == 1) return a;
    if (const MemoEntry& e = memo(Memo::divide, a, b); e.used) return e.result;
    Size out;
    if (!divide_exactly(a, b, out)) {
        const Size arguments[] = {a, b};
        out = apply(quotient, nullptr, arguments, quotient_range(range_of(a), range_of(b)));
    }
    remember(Memo::divide, a, b, out.bits());
    return out;
}

Size Symbols::remainder(Size a, Size b) {
    if (const MemoEntry& e = memo(Memo::remainder, a, b); e.used) return e.result;
    const Size out = add(a, multiply(divide(a, b), b), -1);
    remember(Memo::remainder, a, b, out.bits());
    return out;
}

// Asked often: found without a copy of the arguments.
Size Symbols::apply(SizeFunction function, const void* context, std::span<const Size> arguments, Range range) {
    std::uint64_t hash =
        mixed(reinterpret_cast<std::uintptr_t>(function.call), reinterpret_cast<std::uintptr_t>(context));
    for (const Size a : arguments) hash = mixed(hash, static_cast<std::uint64_t>(a.bits()));
    const auto is_asked = [&](const Applied& known) {
        const Symbol& s = symbols_[known.symbol];
        return s.function == function && s.context == context &&
               std::equal(s.arguments.begin(), s.arguments.end(), arguments.begin(), arguments.end(),
                          [](Size x, Size y) { return same(x, y); });
    };
    const auto [first, last] = applied_.equal_range(hash);
    const auto known = std::find_if(first, last, [&](const auto& entry) { return is_asked(entry.second); });
    if (known != last) return known->second.size;
    std::vector<std::int64_t> values;
    for (const Size a : arguments) values.push_back(value_of(a));
    const auto symbol = static_cast<std::uint32_t>(symbols_.size());
    symbols_.push_back({function(context, values), range, function, context, {arguments.begin(), arguments.end()}});
    const Size size = intern({{monomial({symbol}), 1}});
    applied_.emplace(hash, Applied{symbol, size});
    return size;
}

bool Symbols::always_differ(Size a, Size b) {
    const Range difference = range_of(primitive_of(add(a, b, -1)));
    return difference.low > 0 || difference.high < 0;
}

bool Symbols::is_multiple(Size a, Size b) {
    if (const MemoEntry& e = memo(Memo::multiple, a, b); e.used) return e.result != 0;
    Size factor;
    const bool out = divide_exactly(a, b, factor) && range_of(factor).low >= 1;
    remember(Memo::multiple, a, b, out);
    return out;
}

Size Symbols::larger(Size a, Size b) {
    if (a.is_symbolic() && !b.is_symbolic() && expressions_[index_of(a)].range.low >= b.bits()) return a;
    const Range difference = range_of(add(a, b, -1));
    if (difference.low >= 0) return a;
    if (difference.high <= 0) return b;
    const Size arguments[] = {a, b};
    return apply(largest, nullptr, arguments, larger_range(range_of(a), range_of(b)));
}

Size Symbols::indicator_less(Size a, Size b) {
    const Size difference = add(a, b, -1);
    if (!difference.is_symbolic()) return difference.bits() < 0;
    const Range& range = expressions_[index_of(difference)].range;
    if (range.high < 0 || range.low >= 0) return range.high < 0;
    const Size arguments[] = {a, b};
    return apply(is_less, nullptr, arguments, kChoice);
}

Size Symbols::indicator_differ(Size a, Size b) {
    const Range range_a = range_of(a), range_b = range_of(b);
    if (range_a.high == range_b.low) return indicator_less(a, b);
    if (range_b.high == range_a.low) return indicator_less(b, a);
    return always_differ(a, b) ? true : !(a == b);
}

bool Symbols::condition(Condition::Kind kind, Size difference, bool holds) {
    conditions_.push_back({kind, index_of(difference), holds});
    return holds;
}

// Every symbol that is always positive is divided out, and so is the largest number: fewer conditions, and ranges that
// settle more of them.
Size Symbols::primitive_of(Size size) {
    if (!size.is_symbolic()) return size;
    if (const std::int64_t known = expressions_[index_of(size)].primitive; known != Expression::kUnknown) return known;
    const Polynomial polynomial = polynomial_of(size);
    std::int64_t number = 0;
    std::vector<std::uint32_t> common = monomials_[polynomial[0].monomial];
    std::erase_if(common, [this](std::uint32_t s) { return symbols_[s].range.low <= 0; });
    for (const Term& t : polynomial) {
        number = std::gcd(number, t.coefficient);
        std::vector<std::uint32_t> shared;
        const std::vector<std::uint32_t>& own = monomials_[t.monomial];
        std::set_intersection(common.begin(), common.end(), own.begin(), own.end(), std::back_inserter(shared));
        common = std::move(shared);
    }
    Size out;
    divide_exactly(size, intern({{monomial(std::move(common)), number}}), out);
    expressions_[index_of(size)].primitive = out.bits();
    return out;
}

bool Symbols::below_zero(Size difference) {
    difference = primitive_of(difference);
    if (!difference.is_symbolic()) return difference.bits() < 0;
    const Expression& e = expressions_[index_of(difference)];
    if (e.range.high < 0) return true;
    if (e.range.low >= 0) return false;
    return condition(Condition::Kind::negative, difference, e.value < 0);
}

bool Symbols::is_zero(Size difference) {
    difference = primitive_of(difference);
    if (!difference.is_symbolic()) return difference.bits() == 0;
    const Expression& e = expressions_[index_of(difference)];
    if (e.range.high < 0 || e.range.low > 0) return false;
    return condition(Condition::Kind::zero, difference, e.value == 0);
}

bool Symbols::less(Size a, Size b) {
    if (const MemoEntry& e = memo(Memo::less, a, b); e.used) return e.result != 0;
    const bool out = below_zero(add(a, b, -1));
    remember(Memo::less, a, b, out);
    return out;
}

bool Symbols::equal(Size a, Size b) {
    if (a.is_symbolic() && !b.is_symbolic() && !contains(expressions_[index_of(a)].range, b.bits())) return false;
    if (const MemoEntry& e = memo(Memo::equal, a, b); e.used) return e.result != 0;
    return equal_anew(a, b);
}

bool Symbols::equal_anew(Size a, Size b) {
    const bool out = is_zero(add(a, b, -1));
    remember(Memo::equal, a, b, out);
    return out;
}

}  // namespace vramfit::symbolic
