// vramfit sweep: many configurations of one model on one card.
#include <CLI/CLI.hpp>

#include <algorithm>

#include <fmt/format.h>

#include "base/text_table.hpp"
#include "cli/commands.hpp"
#include "cli/progress.hpp"
#include "cli/sweep/flags.hpp"
#include "cli/sweep/interrupt.hpp"
#include "cli/sweep/job_files.hpp"
#include "cli/sweep/parts.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::cli {

namespace {

/// The exit status of a program that SIGINT has ended, as shells have it.
constexpr auto kInterrupted = static_cast<ExitStatus>(130);

void answer(const SweepFlags& flags, SweepReport& report) {
    Progress progress("sweep", !flags.no_progress && !flags.report.quiet);
    Interrupt interrupt;
    SweepOptions options = flags.options(report);
    options.progress = [&progress](const SweepProgress& p) { progress.show(p.settled, p.total); };
    options.stop = [&interrupt] { return interrupt.asked(); };
    if (report.largest.empty()) {
        report.result = flags.plan.answered([&] { return sweep(report.questions, options); });
        return;
    }
    LargestAnswer found = flags.plan.answered([&] { return largest(report.questions, options, flags.largest_axis()); });
    report.result = std::move(found.result);
    report.largest_rows = std::move(found.rows);
    report.combinations = found.combinations;
}

ExitStatus deliver(const SweepFlags& flags, const SweepReport& report) {
    const std::string text = flags.report.chosen().sweep(report, flags.report.layout());
    if (!flags.jobs.empty()) write_jobs(report, flags.jobs);
    flags.report.deliver(text);
    if (report.result.stopped) return kInterrupted;
    return report.result.ranking.empty() ? kTooLarge : kFits;
}

ExitStatus run_merge(const SweepFlags& flags, const CLI::App& app) {
    if (const auto given = arguments_of(app); !given.empty() || !flags.shard.empty())
        throw Error(ErrorKind::invalid, given.empty() ? "--shard" : given.front(), "stands beside --merge",
                    "the files say what was asked; --format, --output and --jobs may be given");
    std::vector<SweepPart> parts;
    for (const std::string& file : flags.merge) parts.push_back(read_part(file));
    check_parts(parts);
    std::sort(parts.begin(), parts.end(),
              [](const SweepPart& a, const SweepPart& b) { return a.shard.part < b.shard.part; });
    CLI::App line;
    SweepFlags asked;
    asked.add(line, {{}, true});
    std::vector<std::string> words = parts.front().arguments;
    std::reverse(words.begin(), words.end());
    try {
        line.parse(words);
    } catch (const CLI::ParseError& error) {
        throw Error(ErrorKind::invalid, parts.front().file, error.what(), "run the parts again");
    }
    SweepReport report;
    Notes notes;
    asked.ask(report, notes);
    report.result = merged(report.questions, asked.options(report), results_of(std::move(parts), report));
    return deliver(flags, report);
}

/// Flags that another one leaves without effect.
void refuse_idle_flags(const SweepFlags& flags) {
    const auto refuse = [](const char* flag, const char* what, const char* hint) {
        throw Error(ErrorKind::invalid, flag, what, hint);
    };
    const bool picture = flags.report.format == "svg" || flags.report.format == "html";
    if (!flags.map.empty() && !picture) refuse("--map", "only pictures have one", "add --format svg or html");
    if (flags.max.empty()) return;
    const SelectionFlags& selection = flags.selection;
    if (picture) refuse("--max", "has no picture", "choose another --format");
    if (flags.no_prune || flags.all_rows || !flags.shard.empty())
        refuse("--max", "stands beside --no-prune, --all-rows or --shard", "leave these out");
    if (!selection.sort.empty() || !selection.pareto.empty() || !selection.per_group.empty())
        refuse("--max", "stands beside --sort, --pareto or --per-group", "leave these out");
}

ExitStatus run_sweep(SweepFlags& flags, const CLI::App& app) {
    flags.report.chosen();  // an unknown format is told before the work
    if (!flags.merge.empty()) return run_merge(flags, app);
    refuse_idle_flags(flags);
    SweepReport report;
    Notes notes;
    flags.ask(report, notes);
    if (!flags.shard.empty()) {
        report.shard = shard_from(flags.shard);
        report.arguments = arguments_of(app);
        report.version = VRAMFIT_VERSION;
    }
    answer(flags, report);
    report.result.notes.insert(report.result.notes.begin(), notes.begin(), notes.end());
    return deliver(flags, report);
}

Run add_sweep(CLI::App& app, const GivenWords& given) {
    auto flags = std::make_shared<SweepFlags>();
    flags->add(app, given);
    app.footer(
        wrapped(
            "Flags have the defaults of vramfit predict. --recipe paper is the space of S. Salisbury's paper alone.",
            80) +
        "\nCtrl-C ends the search and ranks what is known; once more prints at once.\n"
        "Exit status: 0 a configuration fits; 1 none fits; 2 and 3 as for predict; 130\n"
        "after Ctrl-C.\n");
    return [flags, &app] { return run_sweep(*flags, app); };
}

}  // namespace

extern const Command sweep_command;
const Command sweep_command = {"sweep",
                               "Search many configurations of a model for those that fit on a GPU, and rank them.",
                               "vramfit sweep gemma-2b --gpu 8GiB", add_sweep};

}  // namespace vramfit::cli
