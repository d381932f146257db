// What -h and --help print of every command.
#include <CLI/CLI.hpp>

#include <fmt/format.h>

#include "base/split.hpp"
#include "cli/command_line.hpp"
#include "cli/help.hpp"
#include "support/catch.hpp"

using namespace vramfit;

namespace {

void check_help(std::string_view what, const std::string& help) {
    INFO(what << "\n" << help);
    for (const std::string_view line : split(help, '\n')) CHECK(line.size() <= 80);
    CHECK(help.find("[]") == std::string::npos);  // an argument without its name
    CHECK(help.find("Usage: vramfit") != std::string::npos);
}

}  // namespace

TEST_CASE("help fits 80 columns and names every argument") {
    for (const cli::Command* command : cli::commands()) {
        cli::CommandLine line({{command->name}, true});
        CLI::App& app = *line.app().get_subcommand(command->name);
        check_help(command->name, cli::full_help(app));
        check_help(command->name, cli::short_help(app));
    }
}
