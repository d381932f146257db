// Flags whose help fits 80 columns.
#pragma once

#include <string>
#include <string_view>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace vramfit::cli {

inline constexpr int kHelpColumn = 28;  ///< where descriptions begin

/// Text of a flag's description, broken so that --help fits 80 columns.
std::string help_text(std::string_view text);

/// A flag with one text as its value, kept in `place`.
CLI::Option* add_value(CLI::App& app, const std::string& names, std::string& place, const char* value,
                       std::string_view help);

}  // namespace vramfit::cli
