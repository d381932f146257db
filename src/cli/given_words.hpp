// Which flags a command line can be about: those of a plan are many, and declaring one takes longer the more there are.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

namespace vramfit::cli {

/// The words of a command line before it is parsed.
struct GivenWords {
    std::vector<std::string_view> words;
    bool all = false;  ///< every flag is declared: for help, and for messages that look for the one that was meant

    bool contain(std::string_view word) const { return std::find(words.begin(), words.end(), word) != words.end(); }

    /// Whether the flag ("--batch") is to be declared.
    bool call_for(std::string_view flag) const {
        if (all) return true;
        for (const std::string_view word : words)
            if (word.substr(0, word.find('=')) == flag) return true;
        return false;
    }
};

}  // namespace vramfit::cli
