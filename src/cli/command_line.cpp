// Builds the command line from the table of commands.
#include "cli/command_line.hpp"

#include <CLI/CLI.hpp>
#include <map>

#include "cli/help.hpp"

namespace vramfit::cli {

struct CommandLine::State {
    CLI::App app{
        "Predict the GPU memory of an LLM fine-tuning run before you launch it.\n\nExample:\n"
        "  vramfit predict qwen3-8b --method qlora --gpu \"RTX 4090\"\n",
        "vramfit"};
    int verbosity = 0;
    std::map<const CLI::App*, Run> runs;
};

CommandLine::CommandLine(const GivenWords& given) : state_(std::make_unique<State>()) {
    CLI::App& app = state_->app;
    app.set_help_flag("--help", "Print all flags of a command");
    app.set_help_all_flag("-h", "Print the flags that most people need");
    app.set_version_flag("--version", "vramfit " VRAMFIT_VERSION, "Print the version");
    app.get_formatter()->column_width(kHelpColumn);
    app.get_formatter()->label("Positionals", "Arguments");
    app.get_formatter()->label("SUBCOMMAND", "COMMAND");
    app.get_formatter()->label("Subcommands", "Commands");
    app.fallthrough();  // -v may also follow the command
    app.add_flag("-v,--verbose", state_->verbosity, "Log to standard error what is done; -vv logs more");
    for (const Command* command : commands()) {
        CLI::App* sub = app.add_subcommand(command->name, help_text(command->summary));
        // Declaring the flags of every command takes longer than most answers: those of the one that is named will do.
        if (!given.contain(command->name)) continue;
        sub->description(description_of(*command));
        state_->runs[sub] = command->add(*sub, given);
    }
}

CommandLine::~CommandLine() = default;

CLI::App& CommandLine::app() { return state_->app; }

int CommandLine::verbosity() const { return state_->verbosity; }

const Run* CommandLine::run_of(const CLI::App& command) const {
    const auto found = state_->runs.find(&command);
    return found == state_->runs.end() ? nullptr : &found->second;
}

}  // namespace vramfit::cli
