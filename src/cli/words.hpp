// The values of a flag that can be listed: what a shell completes.
#pragma once

#include <string_view>
#include <vector>

namespace CLI {
class Option;
}

namespace vramfit::cli {

using Words = std::vector<std::string_view>;

/// The words of a table of Named rows.
template <const auto& table>
Words words_of() {
    Words words;
    for (const auto& row : table) words.push_back(row.name);
    return words;
}

/// Notes that the option takes one of these words, for completions; what is given is not checked against them.
CLI::Option* offer(CLI::Option* option, const Words& words);

/// The words that were noted; empty: none were.
Words offered(CLI::Option& option);

}  // namespace vramfit::cli
