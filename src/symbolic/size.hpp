// A size that is a number, or a number that remembers how it follows from the sizes of a question.
//
// Ordinary runs hold plain numbers. While a formula is recorded (symbols.hpp), batch, length and rank are symbols:
// arithmetic on them builds exact polynomials beside the numbers, and every comparison that their ranges do not settle
// becomes a condition under which the run takes the same path.
#pragma once

#include <compare>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <span>

namespace vramfit {

class Size;

namespace symbolic {

/// Numbers from here on are places in the table of symbols.
inline constexpr std::int64_t kFirstSymbol = std::int64_t{1} << 62;

Size add(Size a, Size b);
Size subtract(Size a, Size b);
Size multiply(Size a, Size b);
Size divide(Size a, Size b);
Size remainder(Size a, Size b);
bool less(Size a, Size b);
bool equal(Size a, Size b);
std::int64_t value_of(Size size);
/// The number, as a condition: other rows follow this recording only if they have the same.
std::int64_t settle(Size size);
[[noreturn]] void refuse_overflow(std::int64_t a, char sign, std::int64_t b);

}  // namespace symbolic

/// Elements, strides, counts and bytes, all below 2^62. Division truncates; what is divided is never negative.
/// Throws Error (invalid) where a sum or product leaves the range.
class Size {
  public:
    constexpr Size() = default;
    template <std::integral T>
    constexpr Size(T number) : bits_(static_cast<std::int64_t>(number)) {}

    constexpr bool is_symbolic() const { return bits_ >= symbolic::kFirstSymbol; }
    /// The number. It does not become a condition: for what changes no event.
    std::int64_t value() const { return is_symbolic() ? symbolic::value_of(*this) : bits_; }
    constexpr std::int64_t bits() const { return bits_; }
    /// The number, as a condition of the path (settle).
    template <std::integral T>
    explicit operator T() const {
        return static_cast<T>(settled());
    }

    friend Size operator+(Size a, Size b) {
        if (a.is_symbolic() || b.is_symbolic()) return symbolic::add(a, b);
        const std::int64_t sum = a.bits_ + b.bits_;  // cannot leave 63 bits: both are below 2^62
        if (sum >= symbolic::kFirstSymbol) symbolic::refuse_overflow(a.bits_, '+', b.bits_);
        return sum;
    }
    friend Size operator-(Size a, Size b) {
        if (a.is_symbolic() || b.is_symbolic()) return symbolic::subtract(a, b);
        return a.bits_ - b.bits_;
    }
    friend Size operator*(Size a, Size b) {
        if (a.bits_ == 1) return b;
        if (b.bits_ == 1) return a;
        if (a.is_symbolic() || b.is_symbolic()) return symbolic::multiply(a, b);
        std::int64_t product = 0;
        if (__builtin_mul_overflow(a.bits_, b.bits_, &product) || product >= symbolic::kFirstSymbol)
            symbolic::refuse_overflow(a.bits_, 'x', b.bits_);
        return product;
    }
    friend Size operator/(Size a, Size b) {
        if (a.is_symbolic() || b.is_symbolic()) return symbolic::divide(a, b);
        return a.bits_ / b.bits_;
    }
    friend Size operator%(Size a, Size b) {
        if (a.is_symbolic() || b.is_symbolic()) return symbolic::remainder(a, b);
        return a.bits_ % b.bits_;
    }
    Size& operator+=(Size b) { return *this = *this + b; }
    Size& operator-=(Size b) { return *this = *this - b; }
    Size& operator*=(Size b) { return *this = *this * b; }
    Size& operator/=(Size b) { return *this = *this / b; }

    /// The same number, or the same formula: true for all rows, without a condition. False says nothing.
    friend constexpr bool same(Size a, Size b) { return a.bits_ == b.bits_; }

    friend bool operator==(Size a, Size b) {
        if (a.bits_ == b.bits_) return true;
        return (a.is_symbolic() || b.is_symbolic()) && symbolic::equal(a, b);
    }
    friend bool operator<(Size a, Size b) {
        if (a.is_symbolic() || b.is_symbolic()) return symbolic::less(a, b);
        return a.bits_ < b.bits_;
    }
    friend bool operator>(Size a, Size b) { return b < a; }
    friend bool operator<=(Size a, Size b) { return !(b < a); }
    friend bool operator>=(Size a, Size b) { return !(a < b); }

  private:
    std::int64_t settled() const { return is_symbolic() ? symbolic::settle(*this) : bits_; }

    std::int64_t bits_ = 0;
};

inline Size ceil_div(Size a, Size b) { return (a + b - 1) / b; }
inline Size round_up(Size a, Size multiple) { return ceil_div(a, multiple) * multiple; }

/// A function of sizes that is no polynomial: scratch of a library's kernel, a choice by thresholds. `context` is what
/// else it depends on, and must outlive the formula. `name` is for people (docs/predict.md lists them).
struct SizeFunction {
    std::int64_t (*call)(const void* context, std::span<const std::int64_t> arguments) = nullptr;
    const char* name = "";

    std::int64_t operator()(const void* context, std::span<const std::int64_t> arguments) const {
        return call(context, arguments);
    }
    explicit operator bool() const { return call != nullptr; }
    friend bool operator==(const SizeFunction& a, const SizeFunction& b) { return a.call == b.call; }
};
Size apply(SizeFunction function, const void* context, std::span<const Size> arguments);
inline Size apply(SizeFunction function, const void* context, std::initializer_list<Size> arguments) {
    return apply(function, context, std::span<const Size>(arguments.begin(), arguments.size()));
}

/// The same of a function that answers 0 or 1.
Size apply_choice(SizeFunction function, const void* context, std::initializer_list<Size> arguments);

/// Whether the two differ in all rows. False says nothing.
bool always_differ(Size a, Size b);
/// Whether a is a plain number or formula times b, in all rows. False says nothing.
bool is_multiple(Size a, Size b);
/// The larger of two, without a condition.
Size larger_symbolic(Size a, Size b);
inline Size larger(Size a, Size b) {
    if (a.is_symbolic() || b.is_symbolic()) return larger_symbolic(a, b);
    return a.bits() < b.bits() ? b : a;
}
/// 1 where a < b, else 0: no condition, for what changes sizes but no event.
Size indicator_less(Size a, Size b);

/// 1 where they differ, else 0: no condition if one is the least that the other can be.
Size indicator_differ(Size a, Size b);

}  // namespace vramfit
