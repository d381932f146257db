// vramfit plan: by which method several cards should share a run.
#include <CLI/CLI.hpp>

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "base/parallel.hpp"
#include "base/text_table.hpp"
#include "cli/commands.hpp"
#include "cli/flags/tables.hpp"
#include "cli/flags/values.hpp"
#include "cli/help.hpp"
#include "cli/plan_flags.hpp"
#include "cli/report_flags.hpp"
#include "cli/verdict_flags.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/methods/compare.hpp"
#include "vramfit/report/format.hpp"
#include "vramfit/spec/devices.hpp"

namespace vramfit::cli {

namespace {

constexpr PlanAxis kCards[] = {
    {"gpus", "How many cards, or how many of which: 4x24GiB, \"8xA100 80GB\" (required)"},
};

struct MethodFlags {
    PlanFlags plan;
    ReportFlags report;
    VerdictFlags verdict;
    bool no_largest = false;
    std::string operations_per_byte;
};

struct Cards {
    std::int64_t count = 1;
    std::string kind;  ///< as --gpu has it; empty: not said
};

/// "4x24GiB" or "4".
Cards cards_from(const std::string& text) {
    const std::size_t end = text.find_first_not_of("0123456789");
    const bool kind = end != std::string::npos && end > 0 && (text[end] == 'x' || text[end] == 'X');
    Cards cards;
    cards.count = integer_from(kind ? text.substr(0, end) : text, "--gpus");
    if (kind) cards.kind = text.substr(end + 1);
    if (kind && cards.kind.empty())
        throw Error(ErrorKind::invalid, "--gpus", fmt::format("'{}' names no card", text), "e.g. --gpus 4x24GiB");
    if (cards.count > kMostRanks)
        throw Error(ErrorKind::invalid, "--gpus", fmt::format("{} cards are more than {}", cards.count, kMostRanks),
                    "give fewer");
    return cards;
}

/// Of the flags about several GPUs only the one that says how many there are belongs to the question.
void refuse_method_flags(const PlanFlags& flags) {
    for (const PlanFlag& flag : several_gpus_flags()) {
        if (flag.name != std::string_view("gpus") && flags.given(flag.name))
            throw Error(ErrorKind::invalid, fmt::format("--{}", flag.name), "plan compares the methods by itself",
                        "vramfit predict asks about one of them");
    }
}

MethodsQuestion question_from(const MethodFlags& flags) {
    const auto text = flags.plan.axis("gpus");
    if (!text) throw Error(ErrorKind::invalid, "--gpus", "no cards given", "e.g. --gpus 4x24GiB");
    refuse_method_flags(flags.plan);
    const Cards cards = cards_from(*text);
    if (!cards.kind.empty() && flags.plan.given("gpu"))
        throw Error(ErrorKind::invalid, "--gpu", "--gpus says which cards there are", "give one of the two");
    Chosen chosen;
    if (!cards.kind.empty()) chosen["gpu"] = cards.kind;
    MethodsQuestion question;
    question.job = flags.plan.job(chosen);
    if (!question.job.device.capacity_known)
        throw Error(ErrorKind::invalid, "--gpu", "no card given", "e.g. --gpus 4x24GiB; vramfit gpus lists names");
    question.cards = cards.count;
    question.choose_checkpointing = !flags.plan.given("checkpointing") && !flags.plan.given("gradient_checkpointing");
    question.largest_batch = !flags.no_largest;
    if (!flags.operations_per_byte.empty())
        question.operations_per_byte = number_from(flags.operations_per_byte, "--operations-per-byte");
    question.threads = threads_of_machine();
    if (!question.job.plan.load.quantization) {
        chosen["method"] = "qlora";
        question.quantized = flags.plan.job(chosen);
    }
    return question;
}

ExitStatus run_plan(const MethodFlags& flags) {
    const Format& format = flags.report.chosen();
    MethodsReport report;
    report.question = question_from(flags);
    report.answer = flags.plan.answered([&] { return compare_methods(report.question); });
    flags.report.deliver(format.methods(report, flags.report.layout()));
    const auto& rows = report.answer.rows;
    const bool any = std::any_of(rows.begin(), rows.end(), [&](const MethodRow& row) {
        return row.prediction && flags.verdict.status_of(row.prediction->verdict) == kFits;
    });
    return any ? kFits : kTooLarge;
}

Run add_plan(CLI::App& app, const GivenWords& given) {
    auto flags = std::make_shared<MethodFlags>();
    flags->plan.add(app, given, kCards);
    app.add_flag("--no-largest", flags->no_largest, "Do not look for the largest batch of each method")
        ->group("Output");
    add_value(app, "--operations-per-byte", flags->operations_per_byte, "X",
              "Operations that a card does while it sends a byte: about 2600 over PCIe, 900 over NVLink [2000]")
        ->group("Output");
    flags->report.writes = [](const Format& each) { return each.methods != nullptr; };
    flags->report.add(app);
    flags->verdict.add(app);
    app.footer(
        wrapped("Exit status: 0 some method fits; 1 none does for certain (--accept-tight: or is tight); 2 the "
                "question could not be understood; 3 it is about something that is not supported.",
                80));
    return [flags] { return run_plan(*flags); };
}

}  // namespace

extern const Command plan_command;
const Command plan_command = {
    "plan", "Compare the ways to share a run among several GPUs: DDP, FSDP, ZeRO, tensor and pipeline parallelism.",
    "vramfit plan llama-3.1-8b --gpus 4x24GiB --seq 2048 --mixed-precision bf16", add_plan};

}  // namespace vramfit::cli
