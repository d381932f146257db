// Words are kept in the option itself, as the name of a validator that accepts everything.
#include "cli/words.hpp"

#include <CLI/CLI.hpp>

#include <fmt/format.h>

#include "base/split.hpp"

namespace vramfit::cli {

CLI::Option* offer(CLI::Option* option, const Words& words) {
    const auto accept = [](std::string&) { return std::string(); };
    return option->check(CLI::Validator(accept, "", fmt::format("{}", fmt::join(words, "\n"))));
}

Words offered(CLI::Option& option) {
    Words words;
    try {
        for (const std::string_view word : split(option.get_validator(0)->get_name(), '\n')) words.push_back(word);
    } catch (const CLI::OptionNotFound&) {  // none; CLI11 has no other way to ask
    }
    return words;
}

}  // namespace vramfit::cli
