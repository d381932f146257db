// vramfit timeline: every window of a run, and on demand every allocation and free.
#include <CLI/CLI.hpp>

#include "base/text_table.hpp"
#include "cli/commands.hpp"
#include "cli/plan_flags.hpp"
#include "cli/report_flags.hpp"
#include "vramfit/predict/allocator.hpp"
#include "vramfit/predict/predict.hpp"

namespace vramfit::cli {

namespace {

struct TimelineFlags {
    PlanFlags plan;
    ReportFlags report;
    bool events = false;
};

ExitStatus run_timeline(const TimelineFlags& flags) {
    const Format& format = flags.report.chosen();
    const Job job = flags.plan.job();
    const ReplayOptions allocator = allocator_of(job);
    Program program = flags.plan.answered([&] { return program_of(job); });
    TimelineReport report{job.model.name, replay(program, allocator), std::nullopt, notes_of(job)};
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
    app.footer(wrapped("A run that is too large for the GPU ends at the request that fails (exit status 1).", 80));
    return [flags] { return run_timeline(*flags); };
}

}  // namespace

extern const Command timeline_command;
const Command timeline_command = {"timeline",
                                  "Show the memory of a run over time, phase by phase or allocation by allocation.",
                                  "vramfit timeline qwen3-0.6b --method lora --seq 512", add_timeline};

}  // namespace vramfit::cli
