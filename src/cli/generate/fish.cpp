// Completion for fish: one line for each flag of each command.
#include <fmt/format.h>

#include "cli/generate/generate.hpp"

namespace vramfit::cli {

namespace {

/// In single quotes fish reads \\ and \'.
std::string fish_quoted(const std::string& text) {
    std::string doubled;
    for (const char c : text) doubled += c == '\\' ? std::string("\\\\") : std::string(1, c);
    return single_quoted(doubled, "\\'");
}

std::string condition(const CommandDescription& command) {
    return command.name.empty() ? std::string("-n __fish_use_subcommand")
                                : fmt::format("-n '__fish_seen_subcommand_from {}'", command.name);
}

/// -x: a value that is no file; -r -F: one that may be a file.
std::string values(const std::vector<std::vector<std::string>>& lists, const FlagDescription& flag) {
    std::string out;
    if (flag.value.empty()) return out;
    if (!flag.positional && !flag.optional) out += flag.files ? " -r -F" : " -x";
    if (flag.optional) out += " -f";
    if (flag.positional && flag.files) out += " -F";
    if (!flag.words.empty()) out += fmt::format(" -a '({})'", words_function(lists, flag));
    return out;
}

std::string line_of(const std::vector<std::vector<std::string>>& lists, const CommandDescription& command,
                    const FlagDescription& flag) {
    std::string out = fmt::format("complete -c vramfit {}", condition(command));
    for (const std::string& name : flag.names) {
        if (name.starts_with("--"))
            out += fmt::format(" -l {}", name.substr(2));
        else if (name.starts_with("-"))
            out += fmt::format(" -s {}", name.substr(1));
    }
    return fmt::format("{}{} -d {}\n", out, values(lists, flag),
                       fish_quoted(flag.positional ? flag.names.front() : flag.text));
}

}  // namespace

std::string fish_completion(const Commands& commands) {
    std::string out = "# Completion of vramfit for fish, written by `vramfit generate fish`.\n";
    const auto lists = word_lists(commands);
    for (std::size_t i = 0; i < lists.size(); ++i) {
        out += fmt::format("function _vramfit_words_{}\n    printf '%s\\n'", i);
        for (const std::string& word : lists[i]) out += fmt::format(" {}", fish_quoted(word));
        out += "\nend\n";
    }
    out += "complete -c vramfit -f\n";
    for (const CommandDescription& command : commands) {
        if (!command.name.empty())
            out += fmt::format("complete -c vramfit -n __fish_use_subcommand -a {} -d {}\n", command.name,
                               fish_quoted(command.summary));
        for (const FlagDescription& flag : command.flags)
            if (flag.listed() || flag.positional) out += line_of(lists, command, flag);
    }
    return out;
}

}  // namespace vramfit::cli
