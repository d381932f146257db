// What the completions of all shells share: lists of words, quotes.
#include <algorithm>

#include <fmt/format.h>

#include "cli/generate/generate.hpp"

namespace vramfit::cli {

std::vector<std::vector<std::string>> word_lists(const Commands& commands) {
    std::vector<std::vector<std::string>> lists;
    for (const CommandDescription& command : commands)
        for (const FlagDescription& flag : command.flags)
            if (!flag.words.empty() && std::find(lists.begin(), lists.end(), flag.words) == lists.end())
                lists.push_back(flag.words);
    return lists;
}

std::string words_function(const std::vector<std::vector<std::string>>& lists, const FlagDescription& flag) {
    const auto found = std::find(lists.begin(), lists.end(), flag.words);
    return fmt::format("_vramfit_words_{}", found - lists.begin());
}

std::string single_quoted(const std::string& text, std::string_view inner_quote) {
    std::string out = "'";
    for (const char c : text) out += c == '\'' ? std::string(inner_quote) : std::string(1, c);
    return out + "'";
}

std::string command_names(const Commands& commands, const char* separator) {
    std::string names;
    for (const CommandDescription& command : commands)
        if (!command.name.empty()) names += fmt::format("{}{}", names.empty() ? "" : separator, command.name);
    return names;
}

}  // namespace vramfit::cli
