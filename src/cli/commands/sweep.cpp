// vramfit sweep: many configurations of one model on one card.
#include <CLI/CLI.hpp>

#include <fmt/format.h>

#include "base/text_table.hpp"
#include "cli/commands.hpp"
#include "cli/flags/axes.hpp"
#include "cli/flags/values.hpp"
#include "cli/help.hpp"
#include "cli/plan_flags.hpp"
#include "cli/progress.hpp"
#include "cli/report_flags.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/sweep/sweep.hpp"

namespace vramfit::cli {

namespace {

constexpr PlanAxis kAxes[] = {
    {"rank", "Ranks: 8,16,32 or 8..256:x2 [1..128:x2]"},
    {"batch", "Rows in a batch [1,2,4,8]"},
    {"seq", "Tokens in a row: 512..4096:+512 [16..512:x2]"},
    {"targets", "Sets of targets: attention,attention+mlp,q_proj+v_proj [all sets of embedding, attention, mlp]"},
};

struct SweepFlags {
    PlanFlags plan;
    ReportFlags report;
    std::string top;
    bool no_prune = false;
    bool all_rows = false;
};

/// The paper's recipe, where no flag says otherwise.
void take_recipe(const SweepFlags& flags, const Chosen& chosen, Job& job) {
    if (!flags.plan.given("method")) {
        find_plan_flag("method")->apply(job, "qlora", "--method");
        job = flags.plan.applied(job, chosen);
    }
    if (!flags.plan.given("optim") && job.plan.load.quantization) job.plan.training.optim = "paged_adamw_32bit";
}

SweepSpace space_from(const PlanFlags& flags, const Job& job) {
    const auto ranks = flags.axis("rank"), batches = flags.axis("batch"), lengths = flags.axis("seq"),
               targets = flags.axis("targets");
    SweepSpace space = paper_space(job.model);
    if (batches) space.batches = axis_from(*batches, "--batch");
    if (lengths) space.lengths = axis_from(*lengths, "--seq");
    if (!job.plan.peft) {
        space.ranks = {1};
        space.targets = {{"all weights", {}}};
        return space;
    }
    if (ranks) space.ranks = axis_from(*ranks, "--rank");
    if (targets) space.targets = target_sets_from(*targets, job.model, "--targets");
    return space;
}

/// Axes of adapters need adapters somewhere.
void refuse_idle_axes(const PlanFlags& flags, const std::vector<SweepQuestion>& questions) {
    for (const SweepQuestion& q : questions)
        if (q.base.peft) return;
    for (const char* axis : {"rank", "targets"})
        if (flags.axis(axis))
            throw Error(ErrorKind::invalid, fmt::format("--{}", axis), "full fine-tuning has no adapters",
                        "choose --method lora or qlora");
}

constexpr std::size_t kMostQuestions = 10'000;

/// Every combination of the choices, the last one running fastest.
std::vector<Chosen> combinations(const std::vector<PlanChoice>& choices) {
    std::vector<Chosen> out = {{}};
    for (const PlanChoice& choice : choices) {
        if (out.size() * choice.values.size() > kMostQuestions)
            throw Error(ErrorKind::invalid, fmt::format("--{}", choice.name),
                        fmt::format("more than {} combinations of lists", kMostQuestions), "shorten a list");
        std::vector<Chosen> longer;
        for (const Chosen& chosen : out)
            for (const std::string& value : choice.values) {
                longer.push_back(chosen);
                longer.back()[choice.name] = value;
            }
        out = std::move(longer);
    }
    return out;
}

/// The command line of a question's rows without the axes: what was given, what was chosen, and the recipe.
std::vector<std::string> shared_command(const PlanFlags& flags, const Chosen& chosen, const Job& job) {
    std::vector<std::string> words = flags.words();
    words.insert(words.begin(), "vramfit predict");
    for (const auto& [name, value] : chosen) words.push_back(fmt::format("--{} {}", name, value));
    if (!flags.given("method")) words.push_back("--method qlora");
    if (!flags.given("optim")) words.push_back(fmt::format("--optim {}", job.plan.training.optim));
    return words;
}

/// The questions of the command line with their notes.
SweepReport asked(const SweepFlags& flags, Notes& notes) {
    SweepReport report;
    const std::vector<PlanChoice> choices = flags.plan.choices();
    for (const PlanChoice& choice : choices) report.choices.push_back(choice.name);
    for (const Chosen& chosen : combinations(choices)) {
        Job job = flags.plan.job(chosen);
        take_recipe(flags, chosen, job);
        report.questions.push_back({job.model, job.plan, job.stack, job.device, space_from(flags.plan, job)});
        std::vector<std::string>& values = report.chosen.emplace_back();
        for (const PlanChoice& choice : choices) values.push_back(chosen.at(choice.name));
        report.commands.push_back(shared_command(flags.plan, chosen, job));
        if (notes.empty()) notes = job.notes;
    }
    refuse_idle_axes(flags.plan, report.questions);
    if (!flags.top.empty()) report.top = static_cast<std::size_t>(integer_from(flags.top, "--top"));
    report.all_rows = flags.all_rows;
    return report;
}

ExitStatus run_sweep(const SweepFlags& flags) {
    const Format& format = flags.report.chosen();
    Notes notes;
    SweepReport report = asked(flags, notes);
    Progress progress("sweep");
    SweepOptions options;
    options.prune = !flags.no_prune;
    options.top = report.top;
    options.progress = [&progress](const SweepProgress& p) { progress.show(p.settled, p.total); };
    report.result = flags.plan.answered([&] { return sweep(report.questions, options); });
    report.result.notes.insert(report.result.notes.begin(), notes.begin(), notes.end());
    flags.report.deliver(format.sweep(report, flags.report.layout()));
    return report.result.ranking.empty() ? kTooLarge : kFits;
}

Run add_sweep(CLI::App& app) {
    auto flags = std::make_shared<SweepFlags>();
    flags->plan.add(app, kAxes, false);
    add_value(app, "--top", flags->top, "N", "Rows to show [10]")->group("Ranking");
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
