// What --help and -h print, within 80 columns.
#pragma once

#include <string>
#include <string_view>

#include "cli/commands.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace vramfit::cli {

inline constexpr int kHelpColumn = 28;  ///< where descriptions begin

/// Text of a flag's description, broken so that --help fits 80 columns.
std::string help_text(std::string_view text);

/// How the help of a command begins: what it does, and an example.
std::string description_of(const Command& command);

/// A flag with one text as its value, kept in `place`.
CLI::Option* add_value(CLI::App& app, const std::string& names, std::string& place, const char* value,
                       std::string_view help);

/// All flags of a command, with one empty line between the parts.
std::string full_help(const CLI::App& app);

/// The flags that most people need; hides the others for good.
std::string short_help(CLI::App& app);

}  // namespace vramfit::cli
