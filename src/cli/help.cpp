// What --help and -h print, within 80 columns.
#include "cli/help.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

#include <fmt/format.h>

#include "base/text_table.hpp"

namespace vramfit::cli {

namespace {

constexpr int kWidth = 80;
constexpr std::size_t kFew = 16;  // a command with no more flags shows all of them

/// What -h shows of a command with many flags.
constexpr std::string_view kNeededMost[] = {
    "MODEL",    "FILE",         "--job",        "--method",      "--rank",          "--targets",
    "--batch",  "--seq",        "--optim",      "--gpu",         "--gpus",          "--fsdp",
    "--tp",     "--zero-stage", "--stack",      "--accumulate",  "--format",        "--output",
    "--quiet",  "--formula",    "--top",        "--max",         "--help",          "--each",
    "--set",    "--model",      "--no-largest", "--unsupported", "--checkpointing", "--mixed-precision",
    "--recipe", "--details",    "SNAPSHOT",     "--oom",
};

bool is_needed_most(const CLI::Option& option) {
    return std::find(std::begin(kNeededMost), std::end(kNeededMost), option.get_name()) != std::end(kNeededMost);
}

}  // namespace

std::string help_text(std::string_view text) {
    std::string lines = wrapped(text, kWidth - kHelpColumn);
    lines.pop_back();
    return lines;
}

std::string description_of(const Command& command) {
    return fmt::format("{}\nExample:\n  {}\n", wrapped(command.summary, kWidth), command.example);
}

CLI::Option* add_value(CLI::App& app, const std::string& names, std::string& place, const char* value,
                       std::string_view help) {
    return app.add_option(names, place, help_text(help))->type_name(value);
}

std::string full_help(const CLI::App& app) {
    const CLI::App* parent = app.get_parent();
    std::string help = app.help(parent ? parent->get_name() : std::string());
    for (std::size_t at = 0; (at = help.find("\n\n\n", at)) != std::string::npos;) help.erase(at, 1);
    return help;
}

std::string short_help(CLI::App& app) {
    const auto shown = app.get_options([](const CLI::Option* option) { return !option->get_group().empty(); });
    if (shown.size() > kFew) {
        for (CLI::Option* option : app.get_options())
            if (!is_needed_most(*option)) option->group("");
        app.footer(fmt::format("vramfit {} --help lists all flags.", app.get_name()));
    }
    return full_help(app);
}

}  // namespace vramfit::cli
