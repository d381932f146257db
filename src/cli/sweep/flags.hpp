// The flags of vramfit sweep, and the report that they ask for.
#pragma once

#include <string>
#include <vector>

#include "cli/plan_flags.hpp"
#include "cli/report_flags.hpp"
#include "cli/sweep/selection_flags.hpp"

namespace vramfit::cli {

struct SweepFlags {
    PlanFlags plan;
    ReportFlags report;
    SelectionFlags selection;
    std::string shard;
    std::vector<std::string> merge;
    std::string jobs;
    std::string space;
    std::string targets_each;
    std::string max;
    std::string map;
    std::string threads;
    bool no_prune = false;
    bool no_progress = false;
    bool all_rows = false;

    void add(CLI::App& app, const GivenWords& given);
    /// The report without its answer. `notes` are those of the stacks.
    void ask(SweepReport& asked, Notes& notes);
    SweepOptions options(const SweepReport& asked) const;
    /// The axis of --max. Throws Error (invalid).
    SweepAxis largest_axis() const;

  private:
    void widen(SweepAsked& what) const;
};

/// "2/5". Throws Error (invalid).
SweepShard shard_from(const std::string& text);

/// The arguments that were given, without those of a part and of the output: a line that asks for the same rows.
std::vector<std::string> arguments_of(const CLI::App& app);

}  // namespace vramfit::cli
