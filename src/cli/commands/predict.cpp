// vramfit predict: one configuration.
#include <spdlog/spdlog.h>
#include <CLI/CLI.hpp>

#include <fmt/format.h>
#include <algorithm>

#include "base/text_table.hpp"
#include "cli/commands.hpp"
#include "cli/help.hpp"
#include "cli/plan_flags.hpp"
#include "cli/report_flags.hpp"
#include "cli/verdict_flags.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/check/plan_changes.hpp"
#include "vramfit/predict/predict.hpp"
#include "vramfit/spec/devices.hpp"
#include "vramfit/sweep/sweep.hpp"

namespace vramfit::cli {

namespace {

struct PredictFlags {
    PlanFlags plan;
    ReportFlags report;
    VerdictFlags verdict;
    bool no_changes = false;
    bool details = false;
};

/// What takes less than what is predicted may fit where that does not.
void bound(Prediction& prediction) {
    const bool upper_bound = std::any_of(prediction.notes.begin(), prediction.notes.end(),
                                         [](const Note& note) { return note.kind == NoteKind::upper_bound; });
    if (upper_bound && prediction.verdict == Verdict::too_large) prediction.verdict = Verdict::unknown;
}

/// What to change where the run does not fit, and the smallest GPU where none was named.
void add_changes(const PlanFlags& flags, const Job& job, Prediction& prediction) {
    if (!job.device.capacity_known)
        prediction.smallest_gpu = smallest_gpu(job, prediction.peak.reserved);
    else if (prediction.verdict != Verdict::fits)
        prediction.changes = plan_changes(job, [&flags](const FlagValues& values) { return flags.job(values); });
}

/// Values from a quarter of `middle` to four times as many.
std::vector<std::int64_t> around(std::int64_t middle) {
    std::vector<std::int64_t> out;
    for (const std::int64_t value : {middle / 4, middle / 2, middle, 2 * middle, 4 * middle})
        if (value > 0 && (out.empty() || value > out.back())) out.push_back(value);
    return out;
}

/// What fits of smaller and larger batches and lengths; nothing where that cannot be asked.
std::optional<SweepReport> map_around(const Job& job) {
    if (!job.device.capacity_known || (job.plan.distributed && job.plan.distributed->any_rank)) return std::nullopt;
    if (!job.plan.batch.lengths.empty()) return std::nullopt;  // whose rows are as long as they are
    SweepReport out;
    SweepQuestion& question = out.questions.emplace_back();
    question.model = job.model;
    question.base = job.plan;
    question.stack = job.stack;
    question.device = of_process(job.device, job.plan);
    question.space = {
        {1}, around(job.plan.training.per_device_train_batch_size), around(job.plan.batch.sequence_length), {{"", {}}}};
    if (job.plan.peft) {
        const auto* names = std::get_if<std::vector<std::string>>(&job.plan.peft->target_modules);
        if (!names) return std::nullopt;  // "all-linear" and patterns are no targets of a sweep
        question.space.ranks = {job.plan.peft->r};
        question.space.targets = {{"as asked", *names}};
    }
    SweepOptions options;  // every cell of a map is certain
    options.dominance = false;
    options.selection.top = 0;
    try {
        out.result = sweep(out.questions, options);
    } catch (const Error&) {
        return std::nullopt;
    }
    return out;
}

ExitStatus run_predict(const PredictFlags& flags) {
    const Format& format = flags.report.chosen();
    const Job job = flags.plan.job();
    spdlog::info("{}: {} layers, stack {}, GPU {}", job.model.name, job.model.num_hidden_layers, job.stack.name,
                 job.device.name);
    Prediction prediction =
        flags.plan.answered([&] { return flags.no_changes ? predict(job) : predict_with_largest_fit(job); });
    bound(prediction);
    if (!flags.no_changes) add_changes(flags.plan, job, prediction);
    const Verdict verdict = prediction.verdict;
    Layout layout = flags.report.layout();
    layout.details = flags.details;
    if (format.page) {
        const std::string command = fmt::format("vramfit predict {}", fmt::join(flags.plan.words(), " "));
        flags.report.deliver(format.page({std::move(prediction), command, map_around(job)}, layout));
    } else {
        flags.report.deliver(format.prediction(prediction, layout));
    }
    return flags.verdict.status_of(verdict);
}

Run add_predict(CLI::App& app, const GivenWords& given) {
    auto flags = std::make_shared<PredictFlags>();
    flags->plan.add(app, given);
    flags->report.writes = [](const Format& each) { return each.prediction || each.page; };
    flags->report.add(app);
    flags->verdict.add(app);
    app.add_flag("--details", flags->details,
                 help_text("Show all: what was asked, every named peak, levels of memory, notes with hints"))
        ->group("Output");
    app.add_flag("--no-changes", flags->no_changes,
                 help_text("Skip the search for changes that make it fit, and for the largest run that fits"))
        ->group("Output");
    app.footer(
        wrapped("Exit status: 0 it fits, or no GPU was given; 1 it does not fit, or is tight (--accept-tight: 0); "
                "2 the question could not be understood; 3 it is about something that is not supported.",
                80));
    return [flags] { return run_predict(*flags); };
}

}  // namespace

extern const Command predict_command;
const Command predict_command = {
    "predict", "Predict the peak GPU memory of one fine-tuning run, and say whether it fits on a GPU.",
    "vramfit predict qwen3-8b --method qlora --seq 2048 --gpu \"RTX 4090\"", add_predict};

}  // namespace vramfit::cli
