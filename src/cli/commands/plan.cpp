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

/// Of the flags about the place those are the question's that say which cards and which libraries there are.
void refuse_method_flags(const PlanFlags& flags) {
    constexpr std::string_view kOfTheQuestion[] = {"gpu", "gpus", "reserve", "alloc-conf", "stack"};
    for (const PlanFlag& flag : place_flags()) {
        const bool asked =
            std::find(std::begin(kOfTheQuestion), std::end(kOfTheQuestion), flag.name) != std::end(kOfTheQuestion);
        if (!asked && flags.given(flag.name))
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
    return std::any_of(rows.begin(), rows.end(), [](const MethodRow& row) { return row.fits(); }) ? kFits : kTooLarge;
}

Run add_plan(CLI::App& app) {
    auto flags = std::make_shared<MethodFlags>();
    flags->plan.add(app, kCards);
    app.add_flag("--no-largest", flags->no_largest, "Do not look for the largest batch of each method")
        ->group("Output");
    add_value(app, "--operations-per-byte", flags->operations_per_byte, "X",
              "Operations that a card does while it sends a byte: about 2600 over PCIe, 900 over NVLink [2000]")
        ->group("Output");
    flags->report.writes = [](const Format& each) { return each.methods != nullptr; };
    flags->report.add(app);
    app.footer(wrapped("Exit status: 0 some method fits; 1 none does; 2 the question could not be understood; 3 it is "
                       "about something that is not supported.",
                       80) +
               "\n  vramfit plan --model llama-3.1-8b --gpus 4x24GiB --seq 2048 --mixed-precision bf16");
    return [flags] { return run_plan(*flags); };
}

}  // namespace

extern const Command plan_command;
const Command plan_command = {"plan", "By which method several cards should share a run", add_plan};

}  // namespace vramfit::cli
