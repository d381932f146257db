// Completion for zsh, by its function _arguments.
#include <fmt/format.h>

#include "cli/generate/generate.hpp"

namespace vramfit::cli {

namespace {

/// Brackets and colons end the parts of a specification of _arguments.
std::string escaped(const std::string& text) {
    std::string out;
    for (const char c : text) {
        if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
        out += c;
    }
    return out;
}

std::string zsh_action(const std::vector<std::vector<std::string>>& lists, const FlagDescription& flag) {
    if (flag.words.empty()) return flag.files ? "_files" : " ";
    return fmt::format("{}{}", words_function(lists, flag), flag.files ? "_or_files" : "");
}

/// --rank=[Rank of the adapters]:N: , with ! where it is understood and not listed.
std::string specification(const std::vector<std::vector<std::string>>& lists, const FlagDescription& flag,
                          const std::string& name) {
    std::string out = flag.listed() ? "" : "!";
    if (flag.repeats) out += "*";
    out += name;
    if (!flag.value.empty() && name.starts_with("--")) out += flag.optional ? "=-" : "=";
    if (flag.listed()) out += fmt::format("[{}]", escaped(flag.text));
    if (!flag.value.empty())
        out += fmt::format("{}{}:{}", flag.optional ? "::" : ":", escaped(flag.value), zsh_action(lists, flag));
    return fmt::format(" \\\n        {}", single_quoted(out));
}

std::string function_of(const std::vector<std::vector<std::string>>& lists, const CommandDescription& command) {
    std::string out = fmt::format("_vramfit_{}() {{\n    _arguments -S", command.name);
    for (const FlagDescription& flag : command.flags) {
        if (flag.positional) {
            const std::string text =
                fmt::format("{}:{}:{}", flag.repeats ? "*" : "", escaped(flag.names.front()), zsh_action(lists, flag));
            out += fmt::format(" \\\n        {}", single_quoted(flag.repeats ? text : ":" + text.substr(1)));
            continue;
        }
        for (const std::string& name : flag.names) out += specification(lists, flag, name);
    }
    return out + "\n}\n";
}

constexpr const char* kZshEnd = R"sh(
_vramfit() {
    local curcontext=$curcontext state line
    local -a state_descr
    typeset -A opt_args
    _arguments -C @flags@ \
        '1:command:->command' '*::argument:->arguments'
    case $state in
        command)
            local -a commands=(
@commands@            )
            _describe -t commands command commands ;;
        arguments) (( $+functions[_vramfit_$words[1]] )) && _vramfit_$words[1] ;;
    esac
}

if [[ $funcstack[1] == _vramfit ]]; then _vramfit "$@"; else compdef _vramfit vramfit; fi
)sh";

}  // namespace

std::string zsh_completion(const Commands& commands) {
    std::string out = "#compdef vramfit\n# Completion of vramfit for zsh, written by `vramfit generate zsh`.\n";
    const auto lists = word_lists(commands);
    for (std::size_t i = 0; i < lists.size(); ++i) {
        out += fmt::format("_vramfit_words_{0}() {{\n    local -a words=(", i);
        for (const std::string& word : lists[i]) out += fmt::format(" {}", single_quoted(word));
        out += fmt::format(
            " )\n    compadd -a words\n}}\n_vramfit_words_{0}_or_files() {{ _vramfit_words_{0}; _files; }}\n", i);
    }
    std::string program;
    std::string rows;
    for (const CommandDescription& command : commands) {
        if (!command.name.empty()) {
            out += function_of(lists, command);
            rows += fmt::format("                {}\n",
                                single_quoted(fmt::format("{}:{}", command.name, escaped(command.summary))));
            continue;
        }
        for (const FlagDescription& flag : command.flags)
            for (const std::string& name : flag.names) program += specification(lists, flag, name);
    }
    std::string end = kZshEnd;
    end.replace(end.find("@flags@"), 7, program);
    end.replace(end.find("@commands@"), 10, rows);
    return out + end;
}

}  // namespace vramfit::cli
