// The commands and flags as JSON (vramfit.commands/1), from which other programs make theirs.
#include <nlohmann/json.hpp>

#include "cli/generate/generate.hpp"

namespace vramfit::cli {

namespace {

nlohmann::ordered_json json_of(const FlagDescription& flag) {
    return {{"names", flag.names},       {"value", flag.value},    {"text", flag.text},
            {"group", flag.group},       {"words", flag.words},    {"positional", flag.positional},
            {"optional", flag.optional}, {"repeats", flag.repeats}};
}

}  // namespace

std::string json_commands(const Commands& commands) {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const CommandDescription& command : commands) {
        nlohmann::ordered_json flags = nlohmann::ordered_json::array();
        for (const FlagDescription& flag : command.flags) flags.push_back(json_of(flag));
        rows.push_back({{"name", command.name},
                        {"summary", command.summary},
                        {"example", command.example},
                        {"flags", std::move(flags)}});
    }
    const nlohmann::ordered_json document = {
        {"schema", "vramfit.commands/1"}, {"version", VRAMFIT_VERSION}, {"commands", std::move(rows)}};
    return document.dump(1) + "\n";
}

}  // namespace vramfit::cli
