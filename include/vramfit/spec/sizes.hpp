// Amounts of memory as people write them: "8GiB" and "24GB" differ, and a bare number is refused.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "vramfit/base/bytes.hpp"

namespace vramfit {

/// "8GiB", "24GB" (10^9), "24576MiB", "7.5GiB", "512B"; case matters only between GB and GiB ("gib" is taken).
/// Parts of a byte are dropped. Throws Error (invalid) with a hint for everything else, bare numbers included.
Bytes size_from(std::string_view text, std::string_view where);

/// Whether the text looks like an amount (a number first), right or wrong, and not like a name.
bool looks_like_size(std::string_view text);

/// "7.50 GiB": two decimals, rounded to nearest.
std::string text_of(Bytes bytes);

}  // namespace vramfit
