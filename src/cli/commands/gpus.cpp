// vramfit gpus: the cards that are known by name.
#include <CLI/CLI.hpp>

#include "cli/commands.hpp"
#include "cli/fact_tables.hpp"
#include "cli/report_flags.hpp"

namespace vramfit::cli {

namespace {

Run add_gpus(CLI::App& app, const GivenWords&) {
    return add_table_command(app, gpu_table, "Only GPUs with this text in their name or aliases");
}

}  // namespace

extern const Command gpus_command;
const Command gpus_command = {"gpus", "List the GPUs that are known by name.", "vramfit gpus 4090", add_gpus};

}  // namespace vramfit::cli
