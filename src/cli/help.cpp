// Flags whose help fits 80 columns.
#include "cli/help.hpp"

#include <CLI/CLI.hpp>

#include "base/text_table.hpp"

namespace vramfit::cli {

std::string help_text(std::string_view text) {
    std::string lines = wrapped(text, 80 - kHelpColumn);
    lines.pop_back();
    return lines;
}

CLI::Option* add_value(CLI::App& app, const std::string& names, std::string& place, const char* value,
                       std::string_view help) {
    return app.add_option(names, place, help_text(help))->type_name(value);
}

}  // namespace vramfit::cli
