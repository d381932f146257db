// The commands of the program: one file each in src/cli/commands, listed once in commands.cpp.
#pragma once

#include <functional>
#include <span>

#include "cli/errors.hpp"
#include "cli/given_words.hpp"

namespace CLI {
class App;
}

namespace vramfit::cli {

/// Answers the question whose flags were parsed; throws Error if it cannot.
using Run = std::function<ExitStatus()>;

struct Command {
    const char* name;     ///< "predict"
    const char* summary;  ///< what it does, as one sentence
    const char* example;  ///< a command line, shown below the sentence
    /// Declares the flags on the command's own app; the result owns where they are stored.
    Run (*add)(CLI::App& app, const GivenWords& given);
};

/// All commands in the order of --help. A new one is a file src/cli/commands/NAME.cpp that defines
/// `extern const Command NAME_command`, and its line in commands.cpp.
std::span<const Command* const> commands();

}  // namespace vramfit::cli
