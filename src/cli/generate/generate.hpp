// What vramfit generate writes: pure functions of the described command line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/generate/description.hpp"

namespace vramfit::cli {

using Commands = std::vector<CommandDescription>;

/// The page vramfit(1), or vramfit-NAME(1) of the command of that name.
std::string man_page(const Commands& commands, const std::string& name);

std::string bash_completion(const Commands& commands);
std::string zsh_completion(const Commands& commands);
std::string fish_completion(const Commands& commands);

/// All commands and flags for other programs (vramfit.commands/1).
std::string json_commands(const Commands& commands);

/// The different lists of words that flags have, so that a script has each once.
std::vector<std::vector<std::string>> word_lists(const Commands& commands);

/// "_vramfit_words_3": the function of a script that gives the words of a flag.
std::string words_function(const std::vector<std::vector<std::string>>& lists, const FlagDescription& flag);

/// 'text' as one word of a shell: a quote inside is written as `inner_quote`.
std::string single_quoted(const std::string& text, std::string_view inner_quote = "'\\''");

/// "predict|sweep|..."
std::string command_names(const Commands& commands, const char* separator);

}  // namespace vramfit::cli
