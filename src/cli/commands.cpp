// The list of commands, in the order of --help.
#include "cli/commands.hpp"

#include <vector>

namespace vramfit::cli {

// extern const Command predict_command;

std::span<const Command* const> commands() {
    static const std::vector<const Command*> all = {
        // &predict_command,
    };
    return all;
}

}  // namespace vramfit::cli
