// Walks CLI11's tree; the values of a flag are those that were offered, or what its placeholder stands for.
#include "cli/generate/description.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

#include <fmt/format.h>

#include "cli/command_line.hpp"
#include "cli/words.hpp"
#include "vramfit/spec/devices.hpp"
#include "vramfit/spec/models.hpp"
#include "vramfit/spec/stacks.hpp"

namespace vramfit::cli {

namespace {

std::string in_one_line(std::string text) {
    std::replace(text.begin(), text.end(), '\n', ' ');
    while (text.ends_with(' ')) text.pop_back();
    return text;
}

/// "CARD" of "CARD,...", "BOOL" of "[BOOL]".
std::string kind_of_value(const std::string& value) {
    const std::size_t begin = value.starts_with('[') ? 1 : 0;
    return value.substr(begin, value.find_first_of("],.") - begin);
}

/// "RTX 4090" of "NVIDIA GeForce RTX 4090" where that is known, else the first other name.
std::string short_name(const KnownDevice& card) {
    std::string_view name = card.name;
    for (const std::string_view brand : {"NVIDIA ", "GeForce "})
        if (name.starts_with(brand)) name.remove_prefix(brand.size());
    if (std::find(card.aliases.begin(), card.aliases.end(), name) != card.aliases.end()) return std::string(name);
    return card.aliases.empty() ? card.name : card.aliases.front();
}

std::vector<std::string> words_of_kind(const std::string& kind) {
    std::vector<std::string> words;
    if (kind == "BOOL") words = {"true", "false"};
    if (kind == "MODEL")
        for (const BuiltInModel& model : built_in_models()) words.emplace_back(model.name);
    if (kind == "STACK")
        for (const Stack& stack : named_stacks()) words.push_back(stack.name);
    if (kind == "CARD")
        for (const KnownDevice& card : known_devices()) words.push_back(short_name(card));
    return words;
}

bool may_be_file(const std::string& kind) {
    return kind == "FILE" || kind == "FOLDER" || kind == "MODEL" || kind == "STACK";
}

FlagDescription described(CLI::Option& option) {
    FlagDescription flag;
    flag.positional = option.get_positional();
    for (const std::string& name : option.get_snames()) flag.names.push_back(fmt::format("-{}", name));
    for (const std::string& name : option.get_lnames()) flag.names.push_back(fmt::format("--{}", name));
    if (flag.positional) flag.names = {option.get_name(true)};
    if (option.get_items_expected_max() > 0) flag.value = flag.positional ? flag.names.front() : option.get_type_name();
    const std::string kind = kind_of_value(flag.value);
    flag.text = in_one_line(option.get_description());
    flag.group = option.get_group();
    for (const std::string_view word : offered(option)) flag.words.emplace_back(word);
    if (flag.words.empty()) flag.words = words_of_kind(kind);
    flag.files = may_be_file(kind);
    flag.optional = option.get_expected_min() == 0 && !flag.value.empty();
    flag.repeats = option.get_items_expected_max() > 1;
    return flag;
}

std::vector<FlagDescription> flags_of(CLI::App& app) {
    std::vector<FlagDescription> flags;
    for (CLI::Option* option : app.get_options()) flags.push_back(described(*option));
    return flags;
}

}  // namespace

const std::string& FlagDescription::longest() const {
    return *std::max_element(names.begin(), names.end(),
                             [](const std::string& a, const std::string& b) { return a.size() < b.size(); });
}

std::vector<CommandDescription> described_commands() {
    GivenWords every{{}, true};
    for (const Command* command : commands()) every.words.emplace_back(command->name);
    CommandLine line(every);
    CLI::App& app = line.app();
    std::vector<CommandDescription> all = {
        {"", "Predict the GPU memory of an LLM fine-tuning run before you launch it.",
         "vramfit predict qwen3-8b --method qlora --gpu \"RTX 4090\"", "", flags_of(app)}};
    for (const Command* command : commands()) {
        CLI::App& sub = *app.get_subcommand(command->name);
        all.push_back(
            {command->name, command->summary, command->example, in_one_line(sub.get_footer()), flags_of(sub)});
    }
    return all;
}

}  // namespace vramfit::cli
