// vramfit plan: by which method several cards should share a run.
#include <CLI/CLI.hpp>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "base/parallel.hpp"
#include "base/split.hpp"
#include "base/text_table.hpp"
#include "cli/commands.hpp"
#include "cli/flags/tables.hpp"
#include "cli/flags/values.hpp"
#include "cli/help.hpp"
#include "cli/input.hpp"
#include "cli/output.hpp"
#include "cli/plan_flags.hpp"
#include "cli/report_flags.hpp"
#include "cli/verdict_flags.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/methods/compare.hpp"
#include "vramfit/methods/launch.hpp"
#include "vramfit/report/format.hpp"
#include "vramfit/spec/devices.hpp"
#include "vramfit/spec/sizes.hpp"

namespace vramfit::cli {

namespace {

constexpr PlanAxis kCards[] = {
    {"gpus", "How many GPUs of which kind: 4x24GiB, \"8xA100 80GB\", or several: 8xH100,16xH100 (required)"},
};

struct MethodFlags {
    PlanFlags plan;
    ReportFlags report;
    VerdictFlags verdict;
    bool no_largest = false;
    bool force = false;
    std::string operations_per_byte, host_memory, write, row = "1";
};

/// Cards of one kind.
struct Fleet {
    std::int64_t count = 1;
    std::string kind;  ///< as --gpu has it; empty: not said
};

/// How many characters of the text are digits with an x after them; 0: it does not begin a fleet of a named kind.
std::size_t count_width(std::string_view text) {
    const std::size_t end = text.find_first_not_of("0123456789");
    return end != text.npos && end > 0 && (text[end] == 'x' || text[end] == 'X') ? end : 0;
}

/// "4x24GiB" or "4".
Fleet fleet_from(const std::string& text) {
    const std::size_t kind = count_width(text);
    Fleet fleet;
    fleet.count = integer_from(kind > 0 ? text.substr(0, kind) : text, "--gpus");
    if (kind > 0) fleet.kind = text.substr(kind + 1);
    if (kind > 0 && fleet.kind.empty())
        throw Error(ErrorKind::invalid, "--gpus", fmt::format("'{}' names no GPU", text), "e.g. --gpus 4x24GiB");
    if (fleet.count > kMostRanks)
        throw Error(ErrorKind::invalid, "--gpus", fmt::format("{} GPUs are more than {}", fleet.count, kMostRanks),
                    "give fewer");
    return fleet;
}

/// Commas separate fleets, but not the parts of a card that is written out.
std::vector<Fleet> fleets_from(const std::string& text) {
    std::vector<std::string> parts;
    for (const std::string_view part : split(text, ',')) {
        const bool goes_on = !parts.empty() && count_width(parts.front()) > 0 && count_width(part) == 0;
        if (goes_on)
            parts.back() += fmt::format(",{}", part);
        else
            parts.emplace_back(part);
    }
    std::vector<Fleet> fleets;
    for (auto part = parts.begin(); part != parts.end(); ++part) {
        if (std::find(parts.begin(), part, *part) != part)
            throw Error(ErrorKind::invalid, "--gpus", fmt::format("'{}' is given twice", *part), "keep one of the two");
        fleets.push_back(fleet_from(*part));
    }
    return fleets;
}

/// Of the flags about several GPUs only the one that says how many there are belongs to the question.
void refuse_method_flags(const PlanFlags& flags) {
    for (const PlanFlag& flag : several_gpus_flags()) {
        if (flag.name != std::string_view("gpus") && flags.given(flag.name))
            throw Error(ErrorKind::invalid, fmt::format("--{}", flag.name), "plan compares the methods by itself",
                        "vramfit predict asks about one of them");
    }
}

MethodsQuestion question_from(const MethodFlags& flags, const Fleet& fleet) {
    if (!fleet.kind.empty() && flags.plan.given("gpu"))
        throw Error(ErrorKind::invalid, "--gpu", "--gpus says which GPUs there are", "give one of the two");
    Chosen chosen;
    if (!fleet.kind.empty()) chosen["gpu"] = fleet.kind;
    MethodsQuestion question;
    question.job = flags.plan.job(chosen);
    if (!question.job.device.capacity_known)
        throw Error(ErrorKind::invalid, "--gpu", "no GPU given", "e.g. --gpus 4x24GiB; vramfit gpus lists names");
    question.cards = fleet.count;
    question.choose_checkpointing = !flags.plan.given("checkpointing") && !flags.plan.given("gradient_checkpointing");
    question.largest_batch = !flags.no_largest;
    if (!flags.operations_per_byte.empty())
        question.operations_per_byte = number_from(flags.operations_per_byte, "--operations-per-byte");
    if (!flags.host_memory.empty()) question.host_memory = size_from(flags.host_memory, "--host-memory");
    question.threads = threads_of_machine();
    if (!question.job.plan.load.quantization) {
        chosen["method"] = "qlora";
        question.quantized = flags.plan.job(chosen);
    }
    return question;
}

std::vector<MethodsQuestion> questions_from(const MethodFlags& flags) {
    const auto text = flags.plan.axis("gpus");
    if (!text) throw Error(ErrorKind::invalid, "--gpus", "no GPUs given", "e.g. --gpus 4x24GiB");
    refuse_method_flags(flags.plan);
    std::vector<MethodsQuestion> questions;
    for (const Fleet& fleet : fleets_from(*text)) questions.push_back(question_from(flags, fleet));
    return questions;
}

/// "8xNVIDIA-H100": the folder of one of several fleets.
std::string folder_name(const MethodsQuestion& question) {
    std::string name = fmt::format("{}x{}", question.cards, question.job.device.name);
    std::replace_if(
        name.begin(), name.end(), [](char c) { return c == ' ' || c == '/'; }, '-');
    return name;
}

/// A file that somebody wrote is not overwritten unasked.
void refuse_to_overwrite(const LaunchFile& file) {
    std::error_code problem;
    if (!std::filesystem::exists(file.name, problem) || read_input(file.name, "--write") == file.text) return;
    throw Error(ErrorKind::invalid, "--write", fmt::format("{} exists and says something else", file.name),
                "another folder, or --force to overwrite it");
}

void write_files(const MethodFlags& flags, MethodsReports& reports) {
    if (flags.write.empty()) return;
    for (const MethodsReport& fleet : reports.fleets) {
        const bool alone = reports.fleets.size() == 1;
        const std::filesystem::path base(flags.write);
        const std::string folder = alone ? base.string() : (base / folder_name(fleet.question)).string();
        reports.folders.push_back(folder);
        std::vector<LaunchFile>& files = reports.files.emplace_back();
        const MethodRow* const row = fleet.answer.ranked(reports.row);
        if (!row) continue;
        for (LaunchFile& file : launch_of(row->prediction->plan, folder).files) {
            file.name = (std::filesystem::path(folder) / file.name).string();
            if (!flags.force) refuse_to_overwrite(file);
            files.push_back(std::move(file));
        }
    }
    for (const std::vector<LaunchFile>& files : reports.files) {
        for (const LaunchFile& file : files) {
            const std::filesystem::path folder = std::filesystem::path(file.name).parent_path();
            std::error_code problem;
            if (!folder.empty()) std::filesystem::create_directories(folder, problem);
            if (problem)
                throw Error(ErrorKind::invalid, "--write", fmt::format("{}: {}", folder.string(), problem.message()),
                            "a folder");
            write_result(file.text, file.name);
        }
    }
}

/// A row that was asked for by its number has to be there.
void refuse_missing_row(const MethodFlags& flags, const MethodsReports& reports) {
    if (flags.row == "1") return;
    for (const MethodsReport& fleet : reports.fleets)
        if (!fleet.answer.ranked(reports.row))
            throw Error(ErrorKind::invalid, "--row",
                        fmt::format("no row {} fits on {} x {}", reports.row, fleet.question.cards,
                                    fleet.question.job.device.name),
                        "a number of the first table");
}

ExitStatus run_plan(const MethodFlags& flags) {
    const Format& format = flags.report.chosen();
    MethodsReports reports;
    reports.row = static_cast<std::size_t>(integer_from(flags.row, "--row"));
    for (MethodsQuestion& question : questions_from(flags)) reports.fleets.push_back({std::move(question), {}});
    bool any = false;
    for (MethodsReport& fleet : reports.fleets) {
        fleet.answer = flags.plan.answered([&] { return compare_methods(fleet.question); });
        const auto& rows = fleet.answer.rows;
        any = any || std::any_of(rows.begin(), rows.end(), [&](const MethodRow& row) {
                  return row.prediction && flags.verdict.status_of(row.verdict()) == kFits;
              });
    }
    refuse_missing_row(flags, reports);
    write_files(flags, reports);
    flags.report.deliver(format.methods(reports, flags.report.layout()));
    return any ? kFits : kTooLarge;
}

Run add_plan(CLI::App& app, const GivenWords& given) {
    auto flags = std::make_shared<MethodFlags>();
    flags->plan.add(app, given, kCards);
    app.add_flag("--no-largest", flags->no_largest, "Do not look for the largest batch of each method")
        ->group("Output");
    add_value(app, "--operations-per-byte", flags->operations_per_byte, "X",
              "Operations that a GPU does while it sends a byte: about 2600 over PCIe, 900 over NVLink [2000]")
        ->group("Output");
    add_value(app, "--host-memory", flags->host_memory, "SIZE",
              "Memory of the machine: methods whose weights, gradients and optimizer states need more of it do not fit "
              "[no limit]")
        ->group("Axes");
    add_value(app, "--row", flags->row, "N", "The row of the table whose launch command is shown [1]")->group("Output");
    add_value(app, "--write", flags->write, "FOLDER",
              "Write the file of accelerate or DeepSpeed with which that row runs into FOLDER")
        ->group("Output");
    app.add_flag("--force", flags->force, "Let --write overwrite files that say something else")->group("Output");
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
