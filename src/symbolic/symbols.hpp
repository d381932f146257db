// The table of symbols of one recording: every size that is not a plain number, and the conditions of the path taken.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "symbolic/polynomial.hpp"
#include "symbolic/size.hpp"

namespace vramfit::symbolic {

/// A variable of the polynomials: an axis of the question, or what a function makes of other sizes.
struct Symbol {
    std::int64_t value = 0;  ///< in this recording
    Range range;
    SizeFunction function;  ///< none: an axis
    const void* context = nullptr;
    std::vector<Size> arguments;
};

/// Arguments that a function takes at most.
inline constexpr std::size_t kMostArguments = 24;

/// Whether the symbol cannot shrink where its arguments grow: a quotient by a plain number, the larger of two, whether
/// a plain number is less.
bool is_rising(const Symbol& symbol);

/// A size as a polynomial.
struct Expression {
    Polynomial polynomial;
    std::int64_t value = 0;
    Range range;
    std::int64_t primitive = kUnknown;  ///< a size of the same sign without common factors

    static constexpr std::int64_t kUnknown = -1;
};

/// A condition of the path: the expression is below zero, or is zero, or is not.
struct Condition {
    enum class Kind : std::uint8_t { negative, zero } kind = Kind::negative;
    std::uint32_t expression = 0;
    bool holds = false;
};

class Symbols {
  public:
    Symbols();
    Symbols(const Symbols&) = delete;
    Symbols& operator=(const Symbols&) = delete;

    /// A new axis with this value here and values from `low` to `high` in all.
    Size axis(std::int64_t value, std::int64_t low, std::int64_t high);

    Size add(Size a, Size b, std::int64_t factor);
    Size multiply(Size a, Size b);
    Size divide(Size a, Size b);
    Size remainder(Size a, Size b);
    bool less(Size a, Size b);
    bool equal(Size a, Size b);
    Size indicator_less(Size a, Size b);
    Size indicator_differ(Size a, Size b);
    Size larger(Size a, Size b);
    bool is_multiple(Size a, Size b);
    bool always_differ(Size a, Size b);
    /// A function's values lie in `range`.
    Size apply(SizeFunction function, const void* context, std::span<const Size> arguments, Range range = {});

    std::int64_t value_of(Size size) const;
    /// The polynomial of any size; a plain number is its own constant.
    Polynomial polynomial_of(Size size) const;

    const std::vector<Symbol>& symbols() const { return symbols_; }
    const std::vector<Expression>& expressions() const { return expressions_; }
    const std::vector<Condition>& conditions() const { return conditions_; }
    /// Symbols of each monomial, sorted, repeated by their power.
    const std::vector<std::vector<std::uint32_t>>& monomials() const { return monomials_; }
    const std::vector<Range>& monomial_ranges() const { return monomial_ranges_; }
    /// A product where all symbols have their smallest value, and where all have their largest; symbols without a
    /// bound have the value of this recording.
    struct Corners {
        double low = 1;
        double high = 1;
    };
    const std::vector<Corners>& monomial_corners() const { return monomial_corners_; }
    std::int64_t value_of_monomial(MonomialId id) const;
    /// Whether a product cannot shrink where an axis grows: axes and quotients of what does not shrink.
    bool is_monotone(MonomialId id) const;
    std::uint32_t index_of(Size size) const { return static_cast<std::uint32_t>(size.bits() - kFirstSymbol); }

  private:
    enum class Memo : std::uint8_t { add, subtract, multiply, divide, remainder, less, equal, multiple };
    struct MemoEntry {
        std::int64_t a = 0;
        std::int64_t b = 0;
        std::int64_t result = 0;
        Memo op = Memo::add;
        bool used = false;
    };

    /// The entry of an operation on two sizes: used if it was asked before.
    MemoEntry& memo(Memo op, Size a, Size b) {
        const std::size_t mask = memo_.size() - 1;
        std::uint64_t hash = static_cast<std::uint64_t>(a.bits()) * 0x9e3779b97f4a7c15ull;
        hash = (hash ^ (hash >> 32) ^ static_cast<std::uint64_t>(b.bits())) * 0xff51afd7ed558ccdull;
        hash += static_cast<std::uint64_t>(op) * 0x2545f4914f6cdd1dull;
        for (std::size_t at = (hash >> 20) & mask;; at = (at + 1) & mask) {
            MemoEntry& e = memo_[at];
            if (!e.used || (e.op == op && e.a == a.bits() && e.b == b.bits())) return e;
        }
    }
    void remember(Memo op, Size a, Size b, std::int64_t result);
    Size multiply_anew(Size a, Size b);
    bool equal_anew(Size a, Size b);
    Size intern(Polynomial polynomial);
    MonomialId monomial(std::vector<std::uint32_t> symbols);
    MonomialId product(MonomialId a, MonomialId b);
    bool divide_exactly(Size a, Size b, Size& out);
    Size primitive_of(Size size);
    bool below_zero(Size difference);
    bool is_zero(Size difference);
    bool condition(Condition::Kind kind, Size difference, bool holds);
    Range range_of(const Polynomial& polynomial) const;
    Range range_of(Size size) const;

    std::vector<Symbol> symbols_;
    std::vector<Expression> expressions_;
    std::vector<Condition> conditions_;
    std::vector<std::vector<std::uint32_t>> monomials_;
    std::vector<Range> monomial_ranges_;
    std::vector<Corners> monomial_corners_;
    std::unordered_map<std::string, MonomialId> monomial_ids_;
    std::unordered_map<std::uint64_t, MonomialId> products_;
    std::unordered_map<std::string, std::uint32_t> ids_;
    /// What a function has made of sizes.
    struct Applied {
        std::uint32_t symbol = 0;
        Size size;
    };
    std::unordered_multimap<std::uint64_t, Applied> applied_;  ///< by the hash of the question
    std::vector<MemoEntry> memo_;
    std::size_t memo_used_ = 0;
};

/// Makes `symbols` the table of this thread for a scope.
class Recording {
  public:
    explicit Recording(Symbols& symbols);
    ~Recording();
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;

  private:
    Symbols* outer_;
};

}  // namespace vramfit::symbolic
