// The functions that arithmetic on sizes makes by itself, beside those of libraries.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "symbolic/size.hpp"

namespace vramfit::symbolic {

using Numbers = std::span<const std::int64_t>;

/// floor(a / b).
inline constexpr SizeFunction quotient{[](const void*, Numbers a) { return a[0] / a[1]; }, "floor"};
inline constexpr SizeFunction largest{[](const void*, Numbers a) { return std::max(a[0], a[1]); }, "max"};
inline constexpr SizeFunction is_less{[](const void*, Numbers a) { return std::int64_t{a[0] < a[1]}; }, "less"};

}  // namespace vramfit::symbolic
