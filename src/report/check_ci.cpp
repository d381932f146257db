// The answer about a trainer's files for CI systems: GitHub's workflow commands, JUnit's XML.
#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

#include "report/documents.hpp"
#include "report/verdict_text.hpp"

namespace vramfit::report {

namespace {

/// actions/toolkit, packages/core/src/command.ts, escapeData and escapeProperty.
std::string escaped(std::string_view text, bool property) {
    std::string out;
    for (const char c : text) {
        if (c == '%')
            out += "%25";
        else if (c == '\r')
            out += "%0D";
        else if (c == '\n')
            out += "%0A";
        else if (property && c == ':')
            out += "%3A";
        else if (property && c == ',')
            out += "%2C";
        else
            out += c;
    }
    return out;
}

std::string annotation(const char* level, const FilePlace& place, std::string_view title, std::string_view message) {
    std::string properties;
    if (!place.file.empty()) properties += fmt::format("file={},", escaped(place.file, true));
    if (place.at.line > 0) properties += fmt::format("line={},col={},", place.at.line, place.at.column);
    return fmt::format("::{} {}title={}::{}\n", level, properties, escaped(title, true), escaped(message, false));
}

std::string xml(std::string_view text) {
    std::string out;
    for (const char c : text) {
        switch (c) {
            case '&': out += "&amp;"; break;
            case '<': out += "&lt;"; break;
            case '>': out += "&gt;"; break;
            case '"': out += "&quot;"; break;
            case '\n': out += "&#10;"; break;
            default: out += c;
        }
    }
    return out;
}

std::string sentence(const CheckAnswer& answer) {
    const Prediction& p = answer.prediction;
    if (p.verdict == Verdict::fits)
        return fmt::format("fits on {}: at most {} reserved of {} usable, highest in {}", p.device.name,
                           size_text(p.peak.reserved), text_of(p.device.usable), p.highest);
    if (p.verdict == Verdict::not_asked)
        return fmt::format("at most {} reserved, highest in {}", size_text(p.peak.reserved), p.highest);
    std::string out;
    if (p.verdict == Verdict::tight)
        out = fmt::format("tight on {}: at most {} reserved, {}. {}", p.device.name, size_text(p.peak.reserved),
                          usable_text(p), what_decides(p));
    else if (p.verdict == Verdict::unknown)
        out = fmt::format("unknown on {}: at most {} reserved of {} usable, by another program that may need less",
                          p.device.name, size_text(p.peak.reserved), text_of(p.device.usable));
    else
        out = fmt::format("too large for {}: out of memory in {}, {} reserved of {} usable", p.device.name,
                          p.out_of_memory_window, size_text(p.peak.reserved), text_of(p.device.usable));
    for (const PricedChange& change : answer.changes) {
        std::string edits;
        for (const TrainerEdit& edit : change.edits)
            edits += fmt::format("{}{}: {}", edits.empty() ? "" : ", ", edit.key,
                                 edit.value.empty() ? "(remove)" : edit.value);
        out += fmt::format("\nfits with {} ({} left)", edits, size_text(change.spare));
    }
    return out;
}

/// "too large", as titles have it.
std::string verdict_words(Verdict verdict) {
    std::string words = vramfit::name_of(verdict);
    std::replace(words.begin(), words.end(), '_', ' ');
    return words;
}

/// The key that an annotation about the whole run stands at: the rows of a batch, else the first key of the file.
FilePlace run_place(const Reading& reading) {
    for (const char* field : {"training.per_device_train_batch_size", "batch.sequence_length", "model"}) {
        const Input* input = reading.input(field);
        if (input && input->place.at.line > 0) return input->place;
    }
    return {reading.trainer_file, {1, 1}};
}

/// Where a problem stands: "a.yaml:3:1 lora_r" begins with the place of a file of the run.
FilePlace place_of(const CheckReport& report, const Problem& problem) {
    for (const std::string& file : report.files) {
        if (!problem.where.starts_with(file)) continue;
        FilePlace place{file, {}};
        const std::string rest = problem.where.substr(file.size());
        if (std::sscanf(rest.c_str(), ":%9d:%9d", &place.at.line, &place.at.column) < 2) place.at = {};
        return place;
    }
    return {report.files.empty() ? "" : report.files.front(), {}};
}

/// Refusals and problems alike: what stands in the way of an answer.
struct Obstacle {
    std::string key;
    FilePlace place;
    Problem problem;
};

std::vector<Obstacle> obstacles_of(const CheckReport& report) {
    std::vector<Obstacle> out;
    for (const Problem& problem : report.problems) {
        const FilePlace place = place_of(report, problem);
        const std::string at = fmt::format("{} ", text_of(place));
        const bool in_file = place.at.line > 0 && problem.where.starts_with(at);
        out.push_back({in_file ? problem.where.substr(at.size()) : problem.where, place, problem});
    }
    for (const Refusal& refusal : report.result.reading.refusals) {
        const std::string where = fmt::format("{} {}", text_of(refusal.place), refusal.key);
        out.push_back({refusal.key, refusal.place, {where, refusal.what, refusal.hint}});
    }
    return out;
}

/// Whether the run is let through with that verdict.
bool passes(const CheckReport& report, const CheckAnswer& answer) {
    if (answer.fits()) return true;
    const Verdict verdict = answer.prediction.verdict;
    return (verdict == Verdict::tight && report.accept_tight) ||
           (verdict == Verdict::unknown && report.pass_unsupported);
}

std::string github_run(const CheckReport& report) {
    const CheckResult& result = report.result;
    const bool passed = report.unsupported() && report.pass_unsupported;
    std::string out;
    for (const Obstacle& each : obstacles_of(report))
        out += annotation(passed ? "warning" : "error", each.place, fmt::format("vramfit: {}", each.key),
                          each.problem.hint.empty() ? each.problem.what
                                                    : fmt::format("{}\n{}", each.problem.what, each.problem.hint));
    for (const CheckAnswer& answer : result.answers) {
        const Verdict verdict = answer.fits() ? Verdict::fits : answer.prediction.verdict;
        const char* const level = answer.fits() ? "notice" : passes(report, answer) ? "warning" : "error";
        out += annotation(level, run_place(result.reading), fmt::format("vramfit: {}", verdict_words(verdict)),
                          sentence(answer));
    }
    for (const ReadingNote& note : result.reading.notes)
        out += annotation("notice", {result.reading.trainer_file, {}},
                          fmt::format("vramfit: {}", vramfit::name_of(note.kind)), note.text);
    return out;
}

/// The cases of one run, and how many of them are what.
struct JunitCases {
    std::string text;
    int tests = 0, failures = 0, errors = 0, skipped = 0;

    /// `place` of a case without a line is the first line, as the readers of JUnit's XML want a number.
    void add(std::string_view file, std::string_view name, const FilePlace& place, std::string_view outcome) {
        ++tests;
        text += fmt::format(
            "    <testcase classname=\"{}\" name=\"{}\" file=\"{}\" line=\"{}\">\n      {}\n    </testcase>\n",
            xml(file), xml(name), xml(place.file), std::max(place.at.line, 1), outcome);
    }
};

JunitCases junit_cases(const CheckReport& report) {
    JunitCases cases;
    const Reading& reading = report.result.reading;
    const std::string file = reading.trainer_file.empty() ? report.files.front() : reading.trainer_file;
    const bool unsupported = report.unsupported();
    const bool passed = unsupported && report.pass_unsupported;
    for (const Obstacle& each : obstacles_of(report)) {
        ++(passed ? cases.skipped : cases.errors);
        const std::string what = xml(each.problem.what);
        const std::string outcome =
            passed
                ? fmt::format("<skipped message=\"{}\"/>", what)
                : fmt::format("<error type=\"{}\" message=\"{}\">{}</error>", unsupported ? "unsupported" : "invalid",
                              what, xml(fmt::format("{}: {}", each.problem.where, each.problem.what)));
        cases.add(file, each.key.empty() ? "reading" : each.key, each.place, outcome);
    }
    for (const CheckAnswer& answer : report.result.answers) {
        const std::string said = xml(sentence(answer));
        const bool bad = !passes(report, answer);
        cases.failures += bad ? 1 : 0;
        cases.add(file, answer.prediction.device.name, run_place(reading),
                  bad ? fmt::format("<failure type=\"{}\" message=\"{}\"/>",
                                    vramfit::name_of(answer.prediction.verdict), said)
                      : fmt::format("<system-out>{}</system-out>", said));
    }
    return cases;
}

}  // namespace

std::string check_github(const CheckReports& reports, const Layout&) {
    std::string out;
    for (const CheckReport& run : reports.runs) out += github_run(run);
    return out;
}

/// One document: a suite for each run.
std::string check_junit(const CheckReports& reports, const Layout&) {
    std::string suites;
    JunitCases all;
    for (const CheckReport& run : reports.runs) {
        const JunitCases cases = junit_cases(run);
        suites += fmt::format(
            "  <testsuite name=\"vramfit check {}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\">\n{}  "
            "</testsuite>\n",
            xml(fmt::format("{}", fmt::join(run.files, " "))), cases.tests, cases.failures, cases.errors, cases.skipped,
            cases.text);
        all.tests += cases.tests;
        all.failures += cases.failures;
        all.errors += cases.errors;
    }
    return fmt::format(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"vramfit check\" tests=\"{}\" failures=\"{}\" "
        "errors=\"{}\">\n{}</testsuites>\n",
        all.tests, all.failures, all.errors, suites);
}

}  // namespace vramfit::report
