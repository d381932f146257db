// The list of commands, in the order of --help.
#include "cli/commands.hpp"

#include <vector>

namespace vramfit::cli {

extern const Command predict_command;
extern const Command sweep_command;
extern const Command plan_command;
extern const Command check_command;
extern const Command timeline_command;
extern const Command compare_command;
extern const Command explain_command;
extern const Command models_command;
extern const Command gpus_command;
extern const Command stacks_command;
extern const Command replay_command;
extern const Command generate_command;

std::span<const Command* const> commands() {
    static const std::vector<const Command*> all = {
        &predict_command, &sweep_command,  &plan_command, &check_command,  &timeline_command, &compare_command,
        &explain_command, &models_command, &gpus_command, &stacks_command, &replay_command,   &generate_command,
    };
    return all;
}

}  // namespace vramfit::cli
