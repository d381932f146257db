// vramfit timeline: every window of a run, and on demand every allocation and free, or a picture of them.
#include <CLI/CLI.hpp>

#include <fmt/format.h>

#include "base/text_table.hpp"
#include "cli/commands.hpp"
#include "cli/plan_flags.hpp"
#include "cli/report_flags.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/predict/allocator.hpp"
#include "vramfit/predict/predict.hpp"

namespace vramfit::cli {

namespace {

struct TimelineFlags {
    PlanFlags plan;
    ReportFlags report;
    bool events = false;
};

/// One run of a picture.
DrawnRun drawn_run(const TimelineFlags& flags, const Chosen& chosen) {
    const Job job = flags.plan.job(chosen);
    DrawnRun run;
    run.title = job.model.name;
    run.command = fmt::format("vramfit timeline {}", fmt::join(flags.plan.words(), " "));
    for (const auto& [flag, value] : chosen) {
        if (flag != "model") run.title += fmt::format(", {} {}", flag, value);
        run.command += fmt::format(" --{} {}", flag, shell_word(value));
    }
    run.allocator = allocator_of(job);
    run.prediction = flags.plan.answered([&] { return predict(job); });
    run.program = flags.plan.answered([&] { return program_on_card(job); });
    return run;
}

/// The run, or both runs where a flag has two values.
std::vector<DrawnRun> drawn_runs(const TimelineFlags& flags, bool one) {
    const std::vector<PlanChoice> choices = flags.plan.choices();
    if (choices.empty()) return {drawn_run(flags, {})};
    const std::string flag = fmt::format("--{}", choices.front().name);
    if (one) throw Error(ErrorKind::invalid, flag, "has several values", "this format shows one run");
    if (choices.size() > 1 || choices.front().values.size() > 2)
        throw Error(ErrorKind::invalid, choices.size() > 1 ? fmt::format("--{}", choices[1].name) : flag,
                    "makes more than two runs", "two stand side by side: give one flag two values");
    std::vector<DrawnRun> out;
    for (const std::string& value : choices.front().values)
        out.push_back(drawn_run(flags, {{choices.front().name, value}}));
    return out;
}

ExitStatus run_picture(const TimelineFlags& flags, const Format& format) {
    TimelineReport report;
    report.drawn = drawn_runs(flags, format.name == std::string_view("snapshot"));
    const Prediction& first = report.drawn.front().prediction;
    report.model = first.model.name;
    for (const DrawnRun& run : report.drawn)
        if (run.prediction.model.name != first.model.name)
            report.model += fmt::format(" and {}", run.prediction.model.name);
    report.notes = first.notes;
    flags.report.deliver(format.timeline(report, flags.report.layout()));
    for (const DrawnRun& run : report.drawn)
        if (run.prediction.out_of_memory) return kTooLarge;
    return kFits;
}

ExitStatus run_timeline(const TimelineFlags& flags) {
    const Format& format = flags.report.chosen();
    if (format.draws) {
        if (flags.events)
            throw Error(ErrorKind::invalid, "--events", "has no effect on pictures",
                        "leave it out: they have all events");
        return run_picture(flags, format);
    }
    const Job job = flags.plan.job();
    const ReplayOptions allocator = allocator_of(job);
    Program program = flags.plan.answered([&] { return program_on_card(job); });
    TimelineReport report{job.model.name, replay(program, allocator), std::nullopt, notes_of(job), {}};
    if (flags.events) report.events = std::move(program);
    flags.report.deliver(format.timeline(report, flags.report.layout()));
    return report.timeline.out_of_memory ? kTooLarge : kFits;
}

Run add_timeline(CLI::App& app, const GivenWords& given) {
    auto flags = std::make_shared<TimelineFlags>();
    flags->plan.add(app, given);
    app.add_flag("--events", flags->events, "Also list every allocation and free")->group("Output");
    flags->report.writes = [](const Format& each) { return each.timeline != nullptr; };
    flags->report.add(app);
    app.footer(
        wrapped("A run that is too large for the GPU ends at the request that fails (exit status 1). With "
                "--format html or svg a flag with two values (--method qlora,lora) shows two runs side by side.",
                80));
    return [flags] { return run_timeline(*flags); };
}

}  // namespace

extern const Command timeline_command;
const Command timeline_command = {"timeline",
                                  "Show the memory of a run over time, phase by phase or allocation by allocation.",
                                  "vramfit timeline qwen3-0.6b --method lora --seq 512", add_timeline};

}  // namespace vramfit::cli
