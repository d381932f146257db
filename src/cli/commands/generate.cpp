// vramfit generate: manual pages and completions, from the command line itself.
#include <CLI/CLI.hpp>
#include <algorithm>

#include <fmt/format.h>

#include "base/text_table.hpp"
#include "cli/commands.hpp"
#include "cli/flags/values.hpp"
#include "cli/generate/generate.hpp"
#include "cli/help.hpp"
#include "cli/output.hpp"
#include "cli/words.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::cli {

namespace {

struct GenerateFlags {
    std::string what;
    std::string page;
    std::string output = "-";
};

enum class Generated : std::uint8_t { man, bash, zsh, fish, json };
constexpr Named<Generated> kGenerated[] = {{"man", Generated::man},
                                           {"bash", Generated::bash},
                                           {"zsh", Generated::zsh},
                                           {"fish", Generated::fish},
                                           {"json", Generated::json}};

Words names_of_commands() {
    Words names;
    for (const Command* command : commands()) names.emplace_back(command->name);
    return names;
}

std::string page_from(const std::string& page) {
    if (!page.empty()) choice_from(page, "--page", names_of_commands());
    return page;
}

std::string generated(const GenerateFlags& flags) {
    const Generated what = value_from(flags.what, "WHAT", kGenerated);
    if (what != Generated::man && !flags.page.empty())
        throw Error(ErrorKind::invalid, "--page", "only the manual has pages", "vramfit generate man --page predict");
    const std::string page = page_from(flags.page);
    const Commands all = described_commands();
    switch (what) {
        case Generated::man: return man_page(all, page);
        case Generated::bash: return bash_completion(all);
        case Generated::zsh: return zsh_completion(all);
        case Generated::fish: return fish_completion(all);
        case Generated::json: return json_commands(all);
    }
    return {};
}

ExitStatus run_generate(const GenerateFlags& flags) {
    if (flags.what.empty())
        throw Error(ErrorKind::invalid, "WHAT", "nothing asked for", "one of man, bash, zsh, fish, json");
    write_result(generated(flags), flags.output);
    return kFits;
}

Run add_generate(CLI::App& app, const GivenWords&) {
    auto flags = std::make_shared<GenerateFlags>();
    offer(add_value(app, "WHAT", flags->what, "",
                    "man (a manual page); bash, zsh or fish (a completion script); json (all commands and flags, "
                    "vramfit.commands/1)"),
          words_of<kGenerated>());
    offer(add_value(app, "--page", flags->page, "COMMAND", "The manual page of this command [that of vramfit itself]"),
          names_of_commands());
    add_value(app, "--output", flags->output, "FILE", "Write the result to FILE; - is standard output [-]");
    app.footer(wrapped("For one shell: source <(vramfit generate bash). For good: docs/install.md.", 80));
    return [flags] { return run_generate(*flags); };
}

}  // namespace

extern const Command generate_command;
const Command generate_command = {"generate", "Write manual pages, and completions for bash, zsh and fish.",
                                  "vramfit generate bash > ~/.local/share/bash-completion/completions/vramfit",
                                  add_generate};

}  // namespace vramfit::cli
