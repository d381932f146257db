// vramfit compare: a run that was recorded, or the error that ended it, beside its prediction.
#include <CLI/CLI.hpp>

#include <fmt/format.h>

#include "base/text_table.hpp"
#include "cli/commands.hpp"
#include "cli/help.hpp"
#include "cli/input.hpp"
#include "cli/plan_flags.hpp"
#include "cli/report_flags.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/predict/allocator.hpp"
#include "vramfit/predict/predict.hpp"

namespace vramfit::cli {

namespace {

constexpr std::size_t kLargestSnapshot = std::size_t{2} << 30;

struct CompareFlags {
    PlanFlags plan;
    ReportFlags report;
    std::string file;
    std::string oom;
};

ExitStatus compare_with_error(const CompareFlags& flags) {
    const Job job = flags.plan.job();
    const std::string name = name_of_input(flags.oom);
    const OomMessage message = read_oom_message(read_input(flags.oom, "--oom"), name);
    OomReport report;
    report.file = name;
    report.prediction = flags.plan.answered([&] { return predict(job); });
    const Program program = program_on_card(job);
    const ReplayOptions allocator = without_limit(allocator_of(job));
    report.explanation = explain_oom(message, program, allocator, job.plan.training.per_device_train_batch_size,
                                     job.plan.batch.sequence_length);
    flags.report.deliver(flags.report.chosen().oom(report, flags.report.layout()));
    return report.explanation.same_state ? kFits : kTooLarge;
}

ExitStatus compare_with_snapshot(const CompareFlags& flags) {
    const Job job = flags.plan.job();
    ComparisonReport report;
    report.file = name_of_input(flags.file);
    report.model = job.model.name;
    report.batch = job.plan.training.per_device_train_batch_size;
    report.tokens = job.plan.batch.sequence_length;
    const std::string bytes = read_input(flags.file, "SNAPSHOT", kLargestSnapshot);
    const Snapshot snapshot = read_snapshot(bytes, report.file);
    const Program program = flags.plan.answered([&] { return program_on_card(job); });
    report.comparison = compare_snapshot(snapshot, program);
    report.devices = snapshot.devices;
    report.device = snapshot.device;
    report.notes = notes_of(job);
    flags.report.deliver(flags.report.chosen().comparison(report, flags.report.layout()));
    return report.comparison.equal() ? kFits : kTooLarge;
}

ExitStatus run_compare(const CompareFlags& flags) {
    flags.report.chosen();  // an unknown format is told before the work
    if (!flags.oom.empty() && !flags.file.empty())
        throw Error(ErrorKind::invalid, "--oom", fmt::format("stands beside the file {}", flags.file),
                    "give one of the two, and the model with --model or --job");
    if (!flags.oom.empty()) return compare_with_error(flags);
    if (flags.file.empty())
        throw Error(ErrorKind::invalid, "SNAPSHOT", "no file given",
                    "vramfit compare SNAPSHOT --job FILE, or --oom FILE for the text of an error");
    return compare_with_snapshot(flags);
}

Run add_compare(CLI::App& app, const GivenWords& given) {
    auto flags = std::make_shared<CompareFlags>();
    add_value(app, "SNAPSHOT", flags->file, "",
              "The file of torch.cuda.memory._dump_snapshot(FILE), recorded since "
              "torch.cuda.memory._record_memory_history()");
    flags->plan.add(app, given);
    add_value(app, "--oom", flags->oom, "FILE",
              "Instead of a snapshot: a text with torch's error \"CUDA out of memory. Tried to allocate ...\"; - is "
              "standard input")
        ->group("Model");
    flags->report.writes = [](const Format& each) { return each.comparison != nullptr; };
    flags->report.add(app);
    app.footer(
        wrapped("Exit status: 0 equal, or the error is at a predicted request; 1 they differ; 2 the file or the "
                "question could not be understood; 3 it is about something that is not supported.",
                80));
    return [flags] { return run_compare(*flags); };
}

}  // namespace

extern const Command compare_command;
const Command compare_command = {"compare",
                                 "Compare a recorded run (PyTorch's memory snapshot), or the error that ended it, with "
                                 "its prediction.",
                                 "vramfit compare snapshot.pickle --job job.json", add_compare};

}  // namespace vramfit::cli
