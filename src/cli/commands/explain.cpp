// vramfit explain: where the numbers of a prediction come from.
#include <CLI/CLI.hpp>

#include <fmt/format.h>

#include "base/text_table.hpp"
#include "cli/commands.hpp"
#include "cli/help.hpp"
#include "cli/plan_flags.hpp"
#include "cli/report_flags.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/predict/peak_formulas.hpp"
#include "vramfit/report/format.hpp"

namespace vramfit::cli {

namespace {

struct ExplainFlags {
    PlanFlags plan;
    ReportFlags report;
    bool formula = false;
};

ExitStatus run_explain(const ExplainFlags& flags) {
    const Format& format = flags.report.chosen();
    if (!flags.formula)
        throw Error(
            ErrorKind::invalid, "", "nothing asked for",
            "vramfit explain --formula writes the peaks as formulas; vramfit predict shows what they are made of");
    const Job job = flags.plan.job();
    const FormulaReport report{job.model.name, flags.plan.answered([&] { return peak_formulas(job); })};
    flags.report.deliver(format.formulas(report, flags.report.layout()));
    return kFits;
}

Run add_explain(CLI::App& app, const GivenWords& given) {
    auto flags = std::make_shared<ExplainFlags>();
    flags->plan.add(app, given);
    app.add_flag(
           "--formula", flags->formula,
           help_text("Each named peak as a polynomial of batch size, sequence length and rank, and where it holds"))
        ->group("Output");
    flags->report.writes = [](const Format& each) { return each.formulas != nullptr; };
    flags->report.add(app);
    app.footer(wrapped("The polynomials are the program's own arithmetic: nothing is fitted.", 80));
    return [flags] { return run_explain(*flags); };
}

}  // namespace

extern const Command explain_command;
const Command explain_command = {"explain",
                                 "Write each named peak as a formula of batch size, sequence length and rank.",
                                 "vramfit explain gemma-2b --method qlora --formula", add_explain};

}  // namespace vramfit::cli
