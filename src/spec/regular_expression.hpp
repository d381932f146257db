// Regular expressions that a user gives, as Python's re understands them.
#pragma once

#include <regex>
#include <string>
#include <string_view>

namespace vramfit {

/// The pattern, for matching that takes bounded time. Throws Error (invalid) at `where` for what is none.
std::regex regular_expression(const std::string& pattern, std::string_view where);

}  // namespace vramfit
