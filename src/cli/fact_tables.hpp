// What the program knows, as tables: the commands models, gpus and stacks.
#pragma once

#include <string>

#include "cli/commands.hpp"
#include "vramfit/report/table.hpp"

namespace vramfit::cli {

ReportTable model_table();
ReportTable gpu_table();
ReportTable stack_table();

/// Declares `[TEXT]`, --format and --output for a command that shows a table; TEXT keeps rows that contain it.
Run add_table_command(CLI::App& app, ReportTable (*table)(), const char* text_help);

}  // namespace vramfit::cli
