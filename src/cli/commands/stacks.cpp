// vramfit stacks: the named sets of library versions.
#include <CLI/CLI.hpp>

#include "cli/commands.hpp"
#include "cli/fact_tables.hpp"
#include "cli/report_flags.hpp"

namespace vramfit::cli {

namespace {

Run add_stacks(CLI::App& app, const GivenWords&) {
    return add_table_command(app, stack_table, "Only stacks with this text in their name");
}

}  // namespace

extern const Command stacks_command;
const Command stacks_command = {"stacks", "List the named sets of library versions.", "vramfit stacks", add_stacks};

}  // namespace vramfit::cli
