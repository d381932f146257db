// Text from files and command lines, made safe to print on a terminal.
#pragma once

#include <string>
#include <string_view>

namespace vramfit {

/// On one line: control characters are written as \x1b, and what is longer than `most` bytes is cut.
std::string printable(std::string_view text, std::size_t most);

}  // namespace vramfit
