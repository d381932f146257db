// vramfit predict: one configuration.
#include <spdlog/spdlog.h>
#include <CLI/CLI.hpp>

#include "base/text_table.hpp"
#include "cli/commands.hpp"
#include "cli/plan_flags.hpp"
#include "cli/report_flags.hpp"
#include "vramfit/predict/predict.hpp"

namespace vramfit::cli {

namespace {

struct PredictFlags {
    PlanFlags plan;
    ReportFlags report;
};

ExitStatus run_predict(const PredictFlags& flags) {
    const Format& format = flags.report.chosen();
    const Job job = flags.plan.job();
    spdlog::info("{}: {} layers, stack {}, card {}", job.model.name, job.model.num_hidden_layers, job.stack.name,
                 job.device.name);
    const Prediction prediction = flags.plan.answered([&] { return predict_with_next_larger(job); });
    flags.report.deliver(format.prediction(prediction, flags.report.layout()));
    return prediction.verdict == Verdict::too_large ? kTooLarge : kFits;
}

Run add_predict(CLI::App& app) {
    auto flags = std::make_shared<PredictFlags>();
    flags->plan.add(app);
    flags->report.add(app);
    app.footer(wrapped("Exit status: 0 it fits, or no card was given; 1 it does not fit; 2 the question could not be "
                       "understood; 3 it is about something that is not supported.",
                       80) +
               "\n  vramfit predict --model gemma-2b --method qlora --rank 16 --seq 512 --gpu 8GiB");
    return [flags] { return run_predict(*flags); };
}

}  // namespace

extern const Command predict_command;
const Command predict_command = {"predict", "Whether one configuration fits, its peaks and what they are made of",
                                 add_predict};

}  // namespace vramfit::cli
