// The answer about a trainer's files for CI systems: GitHub's workflow commands, JUnit's XML.
#include <algorithm>

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
        return fmt::format("fits {}: at most {} reserved of {} usable, highest in {}", p.device.name,
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
std::string words_of(Verdict verdict) {
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

}  // namespace

std::string check_github(const CheckReport& report, const Layout&) {
    const CheckResult& result = report.result;
    std::string out;
    for (const Refusal& refusal : result.reading.refusals)
        out += annotation("error", refusal.place, fmt::format("vramfit: {}", refusal.key),
                          refusal.hint.empty() ? refusal.what : refusal.what + "\n" + refusal.hint);
    for (const CheckAnswer& answer : result.answers) {
        const bool bad = !answer.fits();
        const Verdict verdict = bad ? answer.prediction.verdict : Verdict::fits;
        const bool accepted = report.accept_tight && verdict == Verdict::tight;
        out += annotation(accepted ? "warning" : (bad ? "error" : "notice"), run_place(result.reading),
                          fmt::format("vramfit: {}", words_of(verdict)), sentence(answer));
    }
    for (const ReadingNote& note : result.reading.notes)
        out += annotation("notice", {result.reading.trainer_file, {}},
                          fmt::format("vramfit: {}", vramfit::name_of(note.kind)), note.text);
    return out;
}

std::string check_junit(const CheckReport& report, const Layout&) {
    const CheckResult& result = report.result;
    std::string cases;
    int failures = 0;
    int errors = 0;
    for (const Refusal& refusal : result.reading.refusals) {
        ++errors;
        cases += fmt::format(
            "  <testcase classname=\"{}\" name=\"{}\" file=\"{}\" line=\"{}\">\n    <error type=\"unsupported\" "
            "message=\"{}\">{}</error>\n  </testcase>\n",
            xml(result.reading.trainer_file), xml(refusal.key), xml(refusal.place.file), refusal.place.at.line,
            xml(refusal.what), xml(fmt::format("{} {}: {}", text_of(refusal.place), refusal.key, refusal.what)));
    }
    for (const CheckAnswer& answer : result.answers) {
        const Verdict verdict = answer.prediction.verdict;
        const bool bad = !answer.fits() && !(report.accept_tight && verdict == Verdict::tight);
        failures += bad ? 1 : 0;
        const FilePlace place = run_place(result.reading);
        cases += fmt::format("  <testcase classname=\"{}\" name=\"{}\" file=\"{}\" line=\"{}\">\n    ",
                             xml(result.reading.trainer_file), xml(answer.prediction.device.name), xml(place.file),
                             place.at.line);
        const std::string said = xml(sentence(answer));
        cases += bad ? fmt::format("<failure type=\"{}\" message=\"{}\"/>", vramfit::name_of(verdict), said)
                     : fmt::format("<system-out>{}</system-out>", said);
        cases += "\n  </testcase>\n";
    }
    return fmt::format(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"vramfit check\" tests=\"{}\" failures=\"{}\" "
        "errors=\"{}\">\n{}</testsuite>\n",
        result.reading.refusals.size() + result.answers.size(), failures, errors, cases);
}

}  // namespace vramfit::report
