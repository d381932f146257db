// Parses the command line and runs what was asked.
#include "cli/program.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/errors.hpp"
#include "cli/help.hpp"
#include "cli/log.hpp"
#include "cli/other_names.hpp"
#include "cli/output.hpp"
#include "cli/platform.hpp"
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
    const std::string other = is_flag ? hint_of_other_name(argument, words) : std::string();
    return Error(ErrorKind::invalid, argument, what, other.empty() ? did_you_mean(argument, words, help) : other);
}

/// The error of a flag that is known and was not used as it should be: "--batch: 1 required N missing".
Error misused_argument(const CLI::App& app, const CLI::ParseError& error) {
    const CLI::App& command = innermost(app);
    const bool at_top = &command == &app;
    const std::string hint = fmt::format("vramfit{}{} --help", at_top ? "" : " ", at_top ? "" : command.get_name());
    const std::string_view text = error.what();
    const std::size_t colon = text.find(": ");
    if (!text.starts_with("--") || colon == text.npos) return Error(ErrorKind::invalid, "", std::string(text), hint);
    const bool missing = text.find(" required ") != text.npos && text.ends_with(" missing");
    return Error(ErrorKind::invalid, std::string(text.substr(0, colon)),
                 missing ? "a value is missing" : std::string(text.substr(colon + 2)), hint);
}

/// A flag may take the next one for its value: "--checkpointing --seq 1024".
void refuse_missing_value(const CLI::App& command) {
    for (const CLI::Option* option : command.get_options())
        for (const std::string& value : option->results())
            if (value.starts_with("--") && command.get_option_no_throw(value) && !option->get_lnames().empty())
                throw Error(ErrorKind::invalid, fmt::format("--{}", option->get_lnames().front()), "a value is missing",
                            fmt::format("vramfit {} --help", command.get_name()));
}

/// What is said where parsing did not come to its end; called while its exception is handled.
ExitStatus answer_without_run(CLI::App& app) {
    try {
        throw;
    } catch (const CLI::CallForHelp&) {
        write_result(full_help(app));
        return kFits;
    } catch (const CLI::CallForAllHelp&) {  // CLI11's name for its second help flag
        const auto given = app.get_subcommands();
        write_result(short_help(given.empty() ? app : *given.front()));
        return kFits;
    } catch (const CLI::CallForVersion&) {
        write_result("vramfit " VRAMFIT_VERSION "\n");
        return kFits;
    } catch (const CLI::ParseError& error) {
        refuse_missing_value(innermost(app));
        const auto extras = app.remaining(true);  // a mistyped flag is named before the one that is then missing
        if (!extras.empty()) throw unknown_argument(app, extras.front());
        throw misused_argument(app, error);
    }
}

ExitStatus parse_and_run(int argc, const char* const* argv, const GivenWords& given);

/// With every flag declared, which help and messages name.
ExitStatus parse_again(int argc, const char* const* argv, GivenWords given) {
    given.all = true;
    return parse_and_run(argc, argv, given);
}

ExitStatus parse_and_run(int argc, const char* const* argv, const GivenWords& given) {
    CommandLine line(given);
    CLI::App& app = line.app();
    try {
        app.parse(argc, argv);
    } catch (const CLI::Error&) {
        if (!given.all) return parse_again(argc, argv, given);
        return answer_without_run(app);
    }
    refuse_missing_value(innermost(app));
    start_log(line.verbosity());
    const Run* const run = line.run_of(innermost(app));
    if (!run) {
        throw Error(ErrorKind::invalid, "", "no command given", "vramfit --help lists the commands");
    }
    return (*run)();
}

}  // namespace

int run_program(int argc, const char* const* argv) {
    prepare_streams();
    try {
        return parse_and_run(argc, argv, {{argv + std::min(argc, 1), argv + argc}});
    } catch (const std::exception& error) {
        return report(error);
    }
}

}  // namespace vramfit::cli
