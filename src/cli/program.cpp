// Builds the command line from the table of commands, parses it and runs what was asked.
#include "cli/program.hpp"

#include <CLI/CLI.hpp>
#include <csignal>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/errors.hpp"
#include "cli/help.hpp"
#include "cli/log.hpp"
#include "cli/output.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/suggest.hpp"

namespace vramfit::cli {
namespace {

/// The innermost command that was given: `vramfit` itself or one of its commands.
const CLI::App& innermost(const CLI::App& app) {
    const auto given = app.get_subcommands();
    return given.empty() ? app : *given.front();
}

std::vector<std::string> known_flags(const CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::Option* option : app.get_options()) {
        for (const std::string& name : option->get_lnames()) {
            names.push_back(fmt::format("--{}", name));
        }
    }
    return names;
}

std::vector<std::string> known_commands() {
    std::vector<std::string> names;
    for (const Command* command : commands()) {
        names.emplace_back(command->name);
    }
    return names;
}

/// The error of an argument that no flag and no command takes.
Error unknown_argument(const CLI::App& app, std::string argument) {
    const CLI::App& command = innermost(app);
    const bool at_top = &command == &app;
    const bool is_flag = argument.starts_with("-");
    argument = is_flag ? argument.substr(0, argument.find('=')) : argument;
    const auto known = is_flag ? known_flags(command) : at_top ? known_commands() : std::vector<std::string>();
    const std::vector<std::string_view> words(known.begin(), known.end());
    const char* what = is_flag ? "unknown flag" : at_top ? "unknown command" : "unexpected argument";
    const std::string help =
        fmt::format("vramfit{}{} --help lists what is known", at_top ? "" : " ", at_top ? "" : command.get_name());
    return Error(ErrorKind::invalid, argument, what, did_you_mean(argument, words, help));
}

ExitStatus parse_and_run(int argc, const char* const* argv) {
    CLI::App app{"Predicts the GPU memory of LLM fine-tuning before launch", "vramfit"};
    app.set_version_flag("--version", "vramfit " VRAMFIT_VERSION);
    app.get_formatter()->column_width(kHelpColumn);
    app.fallthrough();  // -v may also follow the command
    int verbosity = 0;
    app.add_flag("-v,--verbose", verbosity, "Say on standard error what is done; -vv says more");
    std::map<const CLI::App*, Run> runs;
    for (const Command* command : commands()) {
        CLI::App* sub = app.add_subcommand(command->name, command->summary);
        runs[sub] = command->add(*sub);
    }
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
        write_result(innermost(app).help());
        return kFits;
    } catch (const CLI::CallForVersion&) {
        write_result("vramfit " VRAMFIT_VERSION "\n");
        return kFits;
    } catch (const CLI::ParseError& error) {
        const auto extras = app.remaining(true);  // a mistyped flag is named before the one that is then missing
        if (!extras.empty()) throw unknown_argument(app, extras.front());
        throw Error(ErrorKind::invalid, "", error.what(), fmt::format("{} --help", app.get_name()));
    }
    start_log(verbosity);
    const auto run = runs.find(&innermost(app));
    if (run == runs.end()) {
        throw Error(ErrorKind::invalid, "", "no command given", "vramfit --help lists the commands");
    }
    return run->second();
}

}  // namespace

int run_program(int argc, const char* const* argv) {
    std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is seen by write_result
    try {
        return parse_and_run(argc, argv);
    } catch (const std::exception& error) {
        return report(error);
    }
}

}  // namespace vramfit::cli
