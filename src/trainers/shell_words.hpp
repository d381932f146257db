// The words of a shell script, with their places.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "vramfit/trainers/place.hpp"

namespace vramfit::trainers {

struct ShellWord {
    std::string text;
    Place place;
    bool ends_command = false;  ///< a separator: ; && | or the end of a line
};

/// Words without quotes; lines that a backslash continues are joined; comments are left out; $NAME is replaced where
/// the script itself sets NAME before. Throws Error (invalid) for a quote that is never closed.
std::vector<std::vector<ShellWord>> shell_commands(std::string_view text, const std::string& file);

}  // namespace vramfit::trainers
