// Integer arithmetic that refuses to overflow.
#pragma once

#include <cstdint>
#include <span>

namespace vramfit {

/// a*b; throws Error (invalid) on overflow.
std::int64_t checked_mul(std::int64_t a, std::int64_t b);
/// a+b; throws Error (invalid) on overflow.
std::int64_t checked_add(std::int64_t a, std::int64_t b);
/// Product of all sizes of a shape (1 for none); throws Error (invalid) on overflow.
std::int64_t checked_product(std::span<const std::int64_t> sizes);

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
constexpr std::int64_t round_up(std::int64_t a, std::int64_t multiple) { return ceil_div(a, multiple) * multiple; }

}  // namespace vramfit
