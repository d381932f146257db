// vramfit models: the built-in models, the recorded types, or what a recorded network was recorded for.
#include <CLI/CLI.hpp>

#include "cli/commands.hpp"
#include "cli/fact_tables.hpp"
#include "cli/recording_table.hpp"
#include "cli/report_flags.hpp"

namespace vramfit::cli {

namespace {

Run add_models(CLI::App& app, const GivenWords&) {
    return add_table_command(app, model_table,
                             "Only models with this text in their name, id or family; or the file of a recorded "
                             "network: its variants; or types: the recorded model types",
                             recording_table);
}

}  // namespace

extern const Command models_command;
const Command models_command = {"models", "List the built-in models.", "vramfit models qwen3", add_models};

}  // namespace vramfit::cli
