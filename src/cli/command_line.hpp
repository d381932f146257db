// The command line as CLI11 has it: vramfit itself and its commands with their flags.
#pragma once

#include <memory>

#include "cli/commands.hpp"

namespace vramfit::cli {

class CommandLine {
  public:
    /// All commands are there; those that are not among the words have no flags, and the others have those that the
    /// words call for.
    explicit CommandLine(const GivenWords& given);
    ~CommandLine();
    CommandLine(const CommandLine&) = delete;
    CommandLine& operator=(const CommandLine&) = delete;

    CLI::App& app();
    /// How often -v was given.
    int verbosity() const;
    /// What answers a command, or nullptr for vramfit itself.
    const Run* run_of(const CLI::App& command) const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace vramfit::cli
