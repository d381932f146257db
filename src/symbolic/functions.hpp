// The functions that arithmetic on sizes makes by itself, beside those of libraries.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

namespace vramfit::symbolic {

/// floor(a / b).
inline std::int64_t quotient(const void*, std::span<const std::int64_t> a) { return a[0] / a[1]; }
inline std::int64_t largest(const void*, std::span<const std::int64_t> a) { return std::max(a[0], a[1]); }
inline std::int64_t is_less(const void*, std::span<const std::int64_t> a) { return a[0] < a[1]; }

}  // namespace vramfit::symbolic
