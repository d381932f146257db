// Completion for bash, without the package bash-completion.
#include <fmt/format.h>

#include "cli/generate/generate.hpp"

namespace vramfit::cli {

namespace {

constexpr const char* kBody = R"sh(
# Offers the words that begin with what is typed, quoted where it is not.
_vramfit_offer() {
    local word typed=${cur#[\"\']}
    typed=${typed//\\/}
    for word in "$@"; do
        [[ $word == "$typed"* ]] || continue
        [[ $cur == [\"\']* ]] || printf -v word %q "$word"
        COMPREPLY+=("$word")
    done
}

_vramfit_offer_files() {
    local file
    compopt -o filenames 2>/dev/null
    while IFS= read -r file; do COMPREPLY+=("$file"); done < <(compgen -f -- "$cur")
}

_vramfit() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} command='' i
    COMPREPLY=()
    # bash cuts --flag=value into three words.
    if [[ $cur == = ]]; then
        cur=''
    elif [[ $prev == = ]]; then
        prev=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    for ((i = 1; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
            @names@) command=${COMP_WORDS[i]}; break ;;
        esac
    done
    if [[ -z $command ]]; then
        if [[ $cur == -* ]]; then _vramfit_offer @flags@; else _vramfit_offer @commands@; fi
    elif [[ $prev == -* ]] && "_vramfit_value_$command"; then
        return
    elif [[ $cur == -* ]]; then
        "_vramfit_flags_$command"
    else
        "_vramfit_arguments_$command"
    fi
}
complete -F _vramfit vramfit
)sh";

std::string replaced(std::string text, std::string_view from, const std::string& to) {
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
        text.replace(at, from.size(), to);
    return text;
}

std::string listed_names(const CommandDescription& command) {
    std::string out;
    for (const FlagDescription& flag : command.flags)
        for (const std::string& name : flag.names)
            if (flag.listed() && !flag.positional) out += fmt::format("{}{}", out.empty() ? "" : " ", name);
    return out;
}

/// What is offered as a value: words, files, both or nothing.
std::string offers(const std::vector<std::vector<std::string>>& lists, const FlagDescription& flag) {
    std::string out;
    if (!flag.words.empty()) out += fmt::format("{}; ", words_function(lists, flag));
    if (flag.files) out += "_vramfit_offer_files; ";
    return out.empty() ? ":; " : out;
}

std::string functions_of(const std::vector<std::vector<std::string>>& lists, const CommandDescription& command) {
    std::string out = fmt::format("_vramfit_value_{}() {{\n    case $prev in\n", command.name);
    std::string arguments;
    for (const FlagDescription& flag : command.flags) {
        if (flag.positional) arguments += offers(lists, flag);
        if (flag.positional || flag.value.empty()) continue;
        // A value that may be left out does not keep the next flag from being completed.
        out += fmt::format("        {}) {}{};;\n", fmt::join(flag.names, "|"), offers(lists, flag),
                           flag.optional ? "[[ $cur != -* ]] " : "");
    }
    out += fmt::format("        *) return 1 ;;\n    esac\n}}\n_vramfit_flags_{}() {{ _vramfit_offer {} --verbose; }}\n",
                       command.name, listed_names(command));
    return out + fmt::format("_vramfit_arguments_{}() {{ {}}}\n", command.name, arguments.empty() ? ":; " : arguments);
}

}  // namespace

std::string bash_completion(const Commands& commands) {
    std::string out = "# Completion of vramfit for bash, written by `vramfit generate bash`.\n";
    const auto lists = word_lists(commands);
    for (const CommandDescription& command : commands)
        if (!command.name.empty()) out += functions_of(lists, command);
    for (std::size_t i = 0; i < lists.size(); ++i) {
        out += fmt::format("_vramfit_words_{}() {{ _vramfit_offer", i);
        for (const std::string& word : lists[i]) out += fmt::format(" {}", single_quoted(word));
        out += "; }\n";
    }
    std::string body = replaced(kBody, "@names@", command_names(commands, "|"));
    body = replaced(body, "@commands@", command_names(commands, " "));
    return out + replaced(body, "@flags@", listed_names(commands.front()));
}

}  // namespace vramfit::cli
