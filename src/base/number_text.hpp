// Real numbers written as text.
#pragma once

#include <optional>
#include <string_view>

namespace vramfit {

/// The number that all of `text` writes, as std::from_chars reads it: no blank and no plus in front, never hexadecimal;
/// inf and nan are numbers. Nothing where it is none, or too large for a double.
std::optional<double> real_from(std::string_view text);

}  // namespace vramfit
