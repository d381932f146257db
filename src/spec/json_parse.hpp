// From text to a JSON document, strictly: everything that JSON forbids or leaves open is refused.
#pragma once

#include <string_view>

#include "spec/json_value.hpp"
#include "spec/problems.hpp"

namespace vramfit {

inline constexpr std::size_t kLargestJsonFile = std::size_t{64} << 20;
inline constexpr int kDeepestJson = 64;

/// The document, with problems collected: syntax, invalid UTF-8, NaN and Infinity, text after the end,
/// duplicate keys, nesting deeper than kDeepestJson, more than kLargestJsonFile bytes. A byte order mark is skipped.
/// After a problem that stops the reading the document is null.
JsonValue parse_json(std::string_view text, Problems& problems);

}  // namespace vramfit
