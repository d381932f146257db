// vramfit check: the run that a trainer's files describe.
#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <CLI/CLI.hpp>

#include "base/split.hpp"
#include "base/text_table.hpp"
#include "cli/commands.hpp"
#include "cli/errors.hpp"
#include "cli/flags/values.hpp"
#include "cli/help.hpp"
#include "cli/input.hpp"
#include "cli/output.hpp"
#include "cli/report_flags.hpp"
#include "cli/verdict_flags.hpp"
#include "cli/words.hpp"
#include "vramfit/check/check.hpp"
#include "vramfit/spec/devices.hpp"
#include "vramfit/spec/sizes.hpp"
#include "vramfit/spec/stacks.hpp"

namespace vramfit::cli {

namespace {

constexpr std::size_t kLargestConfig = std::size_t{4} << 20;
constexpr const char* kQuestion = "Reading the files";
constexpr const char* kCard = "Library versions and GPU";

struct CheckFlags {
    std::vector<std::string> files;
    std::vector<std::string> gpus;
    std::vector<std::string> assume_off;
    std::vector<std::string> set;
    std::string format_of, model, model_config, seq, prompt, lengths, cards, stack, total, context, reserve, alloc_conf;
    std::string unsupported = "fail";
    bool explain_inputs = false;
    bool no_changes = false;
    bool each = false;
    ReportFlags report;
    VerdictFlags verdict;
};

/// A length a line: a number, or an object of JSON with the key "length" or "input_ids".
std::int64_t length_of(std::string_view line, const std::string& where) {
    const std::size_t begin = line.find_first_not_of(" \t\r");
    const std::size_t key = line.find("\"length\"");
    std::string_view digits = line.substr(begin);
    if (digits.starts_with('{')) {
        if (key == line.npos)
            throw Error(ErrorKind::invalid, where, "the object has no key \"length\"", "{\"length\": 512}");
        digits = line.substr(line.find_first_of("0123456789", key));
    }
    std::int64_t number = 0;
    const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    const bool clean = digits.substr(static_cast<std::size_t>(end - digits.data())).find_first_not_of(" \t\r,}") ==
                           std::string_view::npos ||
                       line.find('{') != line.npos;
    if (problem != std::errc{} || number < 1 || number > (std::int64_t{1} << 31) || !clean)
        throw Error(ErrorKind::invalid, where, "no number of tokens", "one number a line, or {\"length\": N}");
    return number;
}

std::vector<std::int64_t> lengths_from(const std::string& path) {
    std::vector<std::int64_t> lengths;
    const std::string text = read_input(path, "--lengths");
    std::string_view rest = text;
    for (std::int64_t line = 1; !rest.empty(); ++line) {
        const std::string_view one = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(rest.size(), one.size() + 1));
        if (one.find_first_not_of(" \t\r") == one.npos) continue;
        lengths.push_back(length_of(one, fmt::format("{}:{}", name_of_input(path), line)));
    }
    if (lengths.empty()) throw Error(ErrorKind::invalid, "--lengths", "the file has no length", "one number a line");
    return lengths;
}

std::optional<std::string> file_if_there(const std::string& path) {
    try {
        return read_input(path, "FILE", kLargestConfig);
    } catch (const Error&) {
        return std::nullopt;
    }
}

std::vector<Device> devices_of(const CheckFlags& flags) {
    std::vector<Device> devices;
    for (const std::string& list : flags.gpus) {
        // Commas separate cards, unless the text is one card written out.
        const bool written_out = std::count(list.begin(), list.end(), ',') == 5;
        for (const std::string_view one : written_out ? std::vector<std::string_view>{list} : split(list, ','))
            devices.push_back(device_from(one, "--gpu"));
    }
    if (devices.empty()) devices.push_back(unlimited_device());
    for (Device& device : devices) {
        device.alloc_conf = flags.alloc_conf;
        if (!flags.total.empty())
            device = with_total(std::move(device), size_from(flags.total, "--gpu-total"), "--gpu-total");
        if (!flags.context.empty())
            device = with_context(std::move(device), size_from(flags.context, "--context"), "--context");
        if (!flags.reserve.empty())
            device = with_reserve(std::move(device), size_from(flags.reserve, "--reserve"), "--reserve");
    }
    return devices;
}

CheckQuestion question_of(const CheckFlags& flags, const std::vector<std::string>& files, Notes& notes) {
    CheckQuestion question;
    TrainerQuestion& trainer = question.trainer;
    for (const std::string& file : files)
        trainer.files.push_back({name_of_input(file), read_input(file, "FILE", kLargestConfig)});
    trainer.format_of = flags.format_of;
    trainer.assume_off = flags.assume_off;
    if (!flags.seq.empty()) trainer.seq = integer_from(flags.seq, "--seq");
    if (!flags.prompt.empty()) trainer.prompt = integer_from(flags.prompt, "--prompt");
    if (!flags.lengths.empty()) trainer.lengths = lengths_from(flags.lengths);
    trainer.model = flags.model;
    trainer.model_config = flags.model_config;
    if (!flags.cards.empty()) trainer.gpus = integer_from(flags.cards, "--gpus");
    const bool freeze = flags.stack.find('/') != flags.stack.npos || flags.stack.ends_with(".txt");
    StackChoice stack = freeze ? stack_from_pip_freeze(read_input(flags.stack, "--stack"), flags.stack)
                               : stack_from(flags.stack, "--stack");
    if (!flags.stack.empty()) trainer.stack = std::move(stack.stack);
    notes = std::move(stack.notes);
    trainer.environment = process_environment();
    trainer.open = file_if_there;
    for (const std::string& edit : flags.set) {
        const std::size_t equals = edit.find('=');
        if (equals == edit.npos || equals == 0)
            throw Error(ErrorKind::invalid, "--set", fmt::format("'{}' is no KEY=VALUE", edit), "--set lora_r=16");
        trainer.edits.push_back({edit.substr(0, equals), edit.substr(equals + 1)});
    }
    question.devices = devices_of(flags);
    question.price_changes = !flags.no_changes && !flags.report.quiet;
    return question;
}

constexpr Named<bool> kUnsupportedIs[] = {{"fail", false}, {"pass", true}};

CheckReport empty_report(const CheckFlags& flags, const std::vector<std::string>& files) {
    CheckReport report;
    report.explain_inputs = flags.explain_inputs;
    report.accept_tight = flags.verdict.accept_tight;
    report.pass_unsupported = value_from(flags.unsupported, "--unsupported", kUnsupportedIs);
    for (const std::string& file : files) report.files.push_back(name_of_input(file));
    return report;
}

/// The report about one run: what stops it from being answered is part of it.
CheckReport report_on(const CheckFlags& flags, const std::vector<std::string>& files) {
    CheckReport report = empty_report(flags, files);
    try {
        Notes notes;
        const CheckQuestion question = question_of(flags, files, notes);
        report.result = check(question);
        for (CheckAnswer& answer : report.result.answers)
            answer.prediction.notes.insert(answer.prediction.notes.begin(), notes.begin(), notes.end());
        report.status = report.result.refused() ? kUnsupported : flags.verdict.status_of(report.result.verdict);
    } catch (const Error& error) {
        report.problems = error.problems();
        report.problems_invalid = error.kind() == ErrorKind::invalid;
        report.status = report.problems_invalid ? kInvalid : kUnsupported;
    }
    if (report.status == kUnsupported && report.pass_unsupported) report.status = kFits;
    return report;
}

/// Standard error says what stands in the way of an answer, whatever the format.
void tell_obstacles(const CheckReport& run) {
    try {
        throw_refusals(run.result.reading);
        if (!run.problems.empty())
            throw Error(run.problems_invalid ? ErrorKind::invalid : ErrorKind::unsupported, run.problems);
    } catch (const Error& error) {
        run.status == kFits ? warn(error) : static_cast<void>(report(error));
    }
}

/// A document of this format can say why there is no answer; else standard error alone does.
bool tells_obstacles(const Format& format) {
    return std::string_view(format.name) == "github" || std::string_view(format.name) == "junit";
}

ExitStatus run_check(const CheckFlags& flags) {
    const Format& format = flags.report.chosen();
    if (flags.files.empty())
        throw Error(ErrorKind::invalid, "FILE", "no file given", "vramfit check FILE, or - for standard input");
    CheckReports reports;
    reports.each = flags.each;
    std::vector<std::vector<std::string>> runs = {flags.files};
    if (flags.each) {
        runs.clear();
        for (const std::string& file : flags.files) runs.push_back({file});
    }
    int worst = kFits;
    for (const std::vector<std::string>& files : runs) {
        reports.runs.push_back(report_on(flags, files));
        tell_obstacles(reports.runs.back());
        worst = std::max(worst, reports.runs.back().status);
    }
    const CheckReport& first = reports.runs.front();
    const bool text = std::string_view(format.name) == "text";
    const bool silent =
        !flags.each && (!first.problems.empty() ? !tells_obstacles(format) : text && first.unsupported());
    if (!silent) flags.report.deliver(format.check(reports, flags.report.layout()));
    return static_cast<ExitStatus>(worst);
}

std::string format_names() {
    std::string names;
    for (const KnownTrainer& known : known_trainers())
        names += fmt::format("{}{}", names.empty() ? "" : ", ", known.name);
    return names;
}

void add_question(CLI::App& app, CheckFlags& flags) {
    app.add_option("FILE", flags.files,
                   help_text("Config files of a trainer, read together as one run (--each: a run each); - is standard "
                             "input"))
        ->type_name("");
    app.add_flag("--each", flags.each, help_text("Each file is a run of its own; the worst exit status counts"))
        ->group(kQuestion);
    app.add_option(
           "--gpu", flags.gpus,
           help_text("A GPU's name (vramfit gpus) or a size (24GiB), several separated by commas [none: nothing "
                     "is too large]"))
        ->type_name("GPU,...")
        ->allow_extra_args(false)  // what follows the value is a file
        ->group(kCard);
    add_value(app, "--gpus", flags.cards, "N", "How many GPUs the run has [what the files say, else 1]")->group(kCard);
    add_value(app, "--gpu-total", flags.total, "SIZE",
              "The GPU's memory as torch.cuda.mem_get_info() shows it [what is known of --gpu, between two ends]")
        ->group(kCard);
    add_value(app, "--context", flags.context, "SIZE",
              "What the CUDA context takes of the GPU, as measured [what is known of --gpu, between two ends]")
        ->group(kCard);
    add_value(app, "--reserve", flags.reserve, "SIZE", "GPU memory to keep free [0GiB]")->group(kCard);
    add_value(app, "--alloc-conf", flags.alloc_conf, "CONF",
              "Settings of PyTorch's allocator, written as in PYTORCH_CUDA_ALLOC_CONF [none]")
        ->group(kCard);
    add_value(app, "--stack", flags.stack, "STACK",
              "Library versions: a name (vramfit stacks), NAME,torch=2.6.0,..., or the output of pip freeze in a file "
              "[the trainer's own, else hf-2026-11]")
        ->group(kCard);
    add_value(app, "--seq", flags.seq, "N",
              "Tokens of the longest sequence, where the data decides [the most that the file allows]")
        ->group(kQuestion);
    add_value(app, "--prompt", flags.prompt, "N",
              "GRPO, RLOO: tokens of the longest prompt, which the data decides [what an older file's "
              "max_prompt_length says]")
        ->group(kQuestion);
    add_value(
        app, "--lengths", flags.lengths, "FILE",
        "Lengths of the sequences of the data (GRPO, RLOO: of the prompts): a number or {\"length\": N} on each line")
        ->group(kQuestion);
    add_value(app, "--model", flags.model, "MODEL", "Overrides the model that the file names")->group(kQuestion);
    add_value(app, "--model-config", flags.model_config, "FILE", "The config.json of the model that the file names")
        ->group(kQuestion);
    app.add_option("--assume-off", flags.assume_off,
                   help_text("Read the file as if it did not have this key; may be repeated"))
        ->allow_extra_args(false)
        ->type_name("KEY")
        ->group(kQuestion);
    app.add_option("--set", flags.set, help_text("Read the file as if it had this value; may be repeated"))
        ->allow_extra_args(false)
        ->type_name("KEY=VALUE")
        ->group(kQuestion);
    add_value(app, "--format-of", flags.format_of, "FORMAT",
              fmt::format("The trainer that the first file belongs to: {} [by its content]", format_names()))
        ->group(kQuestion);
}

Run add_check(CLI::App& app, const GivenWords&) {
    auto flags = std::make_shared<CheckFlags>();
    flags->report.writes = [](const Format& each) { return each.check != nullptr; };
    add_question(app, *flags);
    const std::vector<KnownTrainer> trainers = known_trainers();
    Words names;
    for (const KnownTrainer& known : trainers) names.emplace_back(known.name);
    offer(app.get_option("--format-of"), names);
    app.add_flag("--explain-inputs", flags->explain_inputs, help_text("Show every value and where it comes from"))
        ->group("Output");
    app.add_flag("--no-changes", flags->no_changes, help_text("Skip the search for changes that make it fit"))
        ->group("Output");
    flags->report.add(app);
    flags->verdict.add(app);
    add_value(app, "--unsupported", flags->unsupported, "WHAT",
              "Exit status where something is not supported, or an upper bound decides nothing: fail (3) or pass (0) "
              "[fail]")
        ->group("Output");
    app.footer(
        wrapped("Exit status: 0 it fits on every GPU, or no GPU was given; 1 it does not fit on one of them, or is "
                "tight (--accept-tight: 0); 2 the files could not be understood; 3 they ask for something that is not "
                "supported, or only an upper bound is known and it does not fit.",
                80));
    return [flags] { return run_check(*flags); };
}

}  // namespace

extern const Command check_command;
const Command check_command = {"check",
                               "Read the config files of a trainer (axolotl, LLaMA-Factory, TRL, ...) and say whether "
                               "the run that they describe fits.",
                               "vramfit check config.yaml --gpu \"RTX 4090\" && accelerate launch ...", add_check};

}  // namespace vramfit::cli
