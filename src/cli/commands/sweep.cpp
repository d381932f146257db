// vramfit sweep: many configurations of one model on one card.
#include <CLI/CLI.hpp>
#include <array>

#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/flags/axes.hpp"
#include "cli/help.hpp"
#include "cli/plan_flags.hpp"
#include "cli/progress.hpp"
#include "cli/report_flags.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/sweep/sweep.hpp"

namespace vramfit::cli {

namespace {

constexpr std::array<std::string_view, 5> kAxes = {"rank", "batch", "seq", "targets", "job"};

struct SweepFlags {
    PlanFlags plan;
    ReportFlags report;
    std::string rank, batch, seq, targets;
    std::int64_t top = 10;
    bool no_prune = false;
    bool all_rows = false;
    const CLI::App* app = nullptr;
};

/// The paper's recipe, where no flag says otherwise.
void take_recipe(const SweepFlags& flags, Job& job) {
    if (!flags.plan.given("method")) {
        find_plan_flag("method")->apply(job, "qlora", "--method");
        job = flags.plan.applied(job);
    }
    if (!flags.plan.given("optim") && job.plan.load.quantization) job.plan.training.optim = "paged_adamw_32bit";
}

SweepSpace space_from(const SweepFlags& flags, const Job& job) {
    SweepSpace space = paper_space();
    if (!flags.rank.empty()) space.ranks = axis_from(flags.rank, "--rank");
    if (!flags.batch.empty()) space.batches = axis_from(flags.batch, "--batch");
    if (!flags.seq.empty()) space.lengths = axis_from(flags.seq, "--seq");
    if (!flags.targets.empty()) space.targets = target_sets_from(flags.targets, "--targets");
    if (!job.plan.peft) {
        if (!flags.rank.empty() || !flags.targets.empty())
            throw Error(ErrorKind::invalid, flags.rank.empty() ? "--targets" : "--rank",
                        "full fine-tuning has no adapters", "choose --method lora or qlora");
        space.ranks = {1};
        space.targets = {{"all weights", {}}};
    }
    return space;
}

/// The command line of a row without the axes: what was given, and the recipe.
std::string shared_command(const SweepFlags& flags, const Job& job) {
    std::string out = "vramfit predict";
    if (!flags.plan.given("method")) out += " --method qlora";
    if (!flags.plan.given("optim")) out += fmt::format(" --optim {}", job.plan.training.optim);
    for (const CLI::Option* option : flags.app->get_options()) {
        const std::string name = option->get_name();
        if (option->count() == 0 || name == "--rank" || name == "--batch" || name == "--seq" || name == "--targets" ||
            name == "--top" || name == "--no-prune" || name == "--all-rows" || name == "--format" || name == "--output")
            continue;
        out += fmt::format(" {} {}", name, fmt::join(option->results(), ","));
    }
    return out;
}

ExitStatus run_sweep(const SweepFlags& flags) {
    const Format& format = flags.report.chosen();
    if (!format.sweep)
        throw Error(ErrorKind::invalid, "--format", fmt::format("{} does not show sweeps", format.name), "text, json");
    if (flags.top < 1) throw Error(ErrorKind::invalid, "--top", fmt::format("{} is below 1", flags.top));
    Job job = flags.plan.job();
    take_recipe(flags, job);
    SweepReport report;
    report.question = {job.model, job.plan, job.stack, job.device, space_from(flags, job)};
    report.top = static_cast<std::size_t>(flags.top);
    report.all_rows = flags.all_rows;
    report.command = shared_command(flags, job);
    Progress progress("sweep");
    SweepOptions options;
    options.prune = !flags.no_prune;
    options.top = report.top;
    options.progress = [&progress](const SweepProgress& p) { progress.show(p.settled, p.total); };
    report.result = sweep(report.question, options);
    flags.report.deliver(format.sweep(report, flags.report.layout()));
    return report.result.ranking.empty() ? kTooLarge : kFits;
}

Run add_sweep(CLI::App& app) {
    auto flags = std::make_shared<SweepFlags>();
    flags->app = &app;
    flags->plan.add(app, kAxes);
    add_value(app, "--rank", flags->rank, "LIST", "Ranks: 8,16,32 or 8..256:x2 [1..128:x2]")->group("Axes");
    add_value(app, "--batch", flags->batch, "LIST", "Rows in a batch [1,2,4,8]")->group("Axes");
    add_value(app, "--seq", flags->seq, "LIST", "Tokens in a row: 512..4096:+512 [16..512:x2]")->group("Axes");
    add_value(app, "--targets", flags->targets, "LIST",
              "Sets of targets: attention,attention+mlp,q_proj+v_proj [all sets of embedding, attention, mlp]")
        ->group("Axes");
    app.add_option("--top", flags->top, "Rows to show [10]")->type_name("N");
    app.add_flag("--no-prune", flags->no_prune, "Simulate every configuration; the answer is the same");
    app.add_flag("--all-rows", flags->all_rows, "JSON: every row of the space with its status");
    flags->report.add(app);
    app.footer(
        "Without plan flags: QLoRA as in the paper (nf4 with double quantization, prepared for k-bit training,\n"
        "gradient checkpointing, paged_adamw_32bit).\n\n"
        "Exit status: 0 a configuration fits; 1 none fits; 2 and 3 as for predict.\n\n"
        "  vramfit sweep --model gemma-2b --gpu 8GiB");
    return [flags] { return run_sweep(*flags); };
}

}  // namespace

extern const Command sweep_command;
const Command sweep_command = {"sweep", "Which configurations fit a card, closest to its capacity first", add_sweep};

}  // namespace vramfit::cli
