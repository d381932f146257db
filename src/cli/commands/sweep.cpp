// vramfit sweep: many configurations of one model on one card.
#include <CLI/CLI.hpp>

#include "base/text_table.hpp"
#include "cli/commands.hpp"
#include "cli/help.hpp"
#include "cli/plan_flags.hpp"
#include "cli/progress.hpp"
#include "cli/report_flags.hpp"
#include "cli/sweep/questions.hpp"
#include "cli/sweep/selection_flags.hpp"
#include "vramfit/sweep/sweep.hpp"

namespace vramfit::cli {

namespace {

struct SweepFlags {
    PlanFlags plan;
    ReportFlags report;
    SelectionFlags selection;
    bool no_prune = false;
    bool all_rows = false;
};

/// The questions of the command line with their notes.
SweepReport asked(const SweepFlags& flags, Notes& notes) {
    SweepReport report;
    SweepAsked asked{flags.plan.choices(), {}};
    flags.selection.pair_accumulation(flags.plan, asked);
    ask(flags.plan, asked, report, notes);
    report.all_rows = flags.all_rows;
    return report;
}

ExitStatus run_sweep(const SweepFlags& flags) {
    const Format& format = flags.report.chosen();
    Notes notes;
    SweepReport report = asked(flags, notes);
    flags.selection.apply(report);
    Progress progress("sweep");
    SweepOptions options;
    options.prune = !flags.no_prune;
    options.selection = report.selection;
    options.bounds = report.bounds;
    options.progress = [&progress](const SweepProgress& p) { progress.show(p.settled, p.total); };
    report.result = flags.plan.answered([&] { return sweep(report.questions, options); });
    report.result.notes.insert(report.result.notes.begin(), notes.begin(), notes.end());
    flags.report.deliver(format.sweep(report, flags.report.layout()));
    return report.result.ranking.empty() ? kTooLarge : kFits;
}

Run add_sweep(CLI::App& app) {
    auto flags = std::make_shared<SweepFlags>();
    flags->plan.add(app, sweep_axes(), false);
    flags->selection.add(app);
    app.add_flag("--no-prune", flags->no_prune, "Simulate every configuration; the answer is the same")
        ->group("Ranking");
    app.add_flag("--all-rows", flags->all_rows, "JSON: every row of the space with its status")->group("Ranking");
    flags->report.writes = [](const Format& each) { return each.sweep != nullptr; };
    flags->report.add(app);
    app.footer(wrapped("Without plan flags: QLoRA as in the paper (nf4 with double quantization, prepared for k-bit "
                       "training, gradient checkpointing, paged_adamw_32bit).",
                       80) +
               "\nExit status: 0 a configuration fits; 1 none fits; 2 and 3 as for predict.\n"
               "\n  vramfit sweep --model gemma-2b --gpu 8GiB");
    return [flags] { return run_sweep(*flags); };
}

}  // namespace

extern const Command sweep_command;
const Command sweep_command = {"sweep", "Which configurations fit a card, closest to its capacity first", add_sweep};

}  // namespace vramfit::cli
