// What was tried, in words.
#pragma once

#include <string>
#include <string_view>

namespace vramfit {

/// Of the kinds of change that trainers' files and flags have: "batch" -> "a batch size down to 1".
std::string tried_text(std::string_view id);

}  // namespace vramfit
