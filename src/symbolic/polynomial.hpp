// Polynomials with integer coefficients over the symbols of one recording.
#pragma once

#include <cstdint>
#include <vector>

namespace vramfit::symbolic {

/// A product of symbols, by its place in the table of monomials; 0 is the empty product.
using MonomialId = std::uint32_t;

struct Term {
    MonomialId monomial = 0;
    std::int64_t coefficient = 0;
    friend bool operator==(const Term&, const Term&) = default;
};

/// Terms by rising monomial, none of them zero.
using Polynomial = std::vector<Term>;

/// Smallest and largest value over the ranges of the symbols; kNone where there is no bound.
struct Range {
    static constexpr std::int64_t kNone = std::int64_t{1} << 62;
    std::int64_t low = -kNone;
    std::int64_t high = kNone;
};

/// a + factor*b. Throws Error (invalid) on overflow.
Polynomial sum(const Polynomial& a, const Polynomial& b, std::int64_t factor);

/// Of a function that answers 0 or 1.
inline constexpr Range kChoice{0, 1};

/// Sums and products of ranges; bounds beyond kNone are none.
Range operator+(Range a, Range b);
Range operator*(Range a, Range b);

}  // namespace vramfit::symbolic
