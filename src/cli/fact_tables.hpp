// What the program knows, as tables: the commands models, gpus and stacks.
#pragma once

#include <optional>
#include <string>

#include "cli/commands.hpp"
#include "vramfit/report/table.hpp"

namespace vramfit::cli {

ReportTable model_table();
ReportTable gpu_table();
ReportTable stack_table();

/// Another table for a text that means something else; nothing: it does not.
using OtherTable = std::optional<ReportTable> (*)(const std::string& text);

/// Declares `[TEXT]`, --format and --output for a command that shows a table; TEXT keeps rows that contain it.
Run add_table_command(CLI::App& app, ReportTable (*table)(), const char* text_help, OtherTable other = nullptr);

}  // namespace vramfit::cli
