// The answer about a trainer's files as text: verdict, the binding moment, what to change, where values come from.
#include <fmt/format.h>

#include <algorithm>

#include "base/text_table.hpp"
#include "report/documents.hpp"
#include "report/plan_text.hpp"
#include "report/verdict_text.hpp"

namespace vramfit::report {

namespace {

std::string in_colour(std::string_view text, const char* code, const Layout& layout) {
    return layout.colour ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
}

/// "; stack axolotl-0.19 (the trainer's)".
std::string stack_text(const Reading& reading) {
    const Input* input = reading.input("stack");
    if (!input) return {};
    const bool own = input->source == InputSource::trainer_default && !input->key.empty();
    return fmt::format("; stack {} ({})", input->value,
                       own                  ? "the trainer's"
                       : input->key.empty() ? "the default"
                                            : input->key);
}

std::string files_line(const CheckResult& result, const Layout& layout) {
    std::string names;
    for (const ReadFile& file : result.reading.files)
        names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", file.name, file.title);
    return wrapped(names + stack_text(result.reading), layout.width);
}

const PeakResult* peak_named(const Prediction& p, const std::string& name) {
    for (const PeakResult& peak : p.peaks)
        if (peak.name == name) return &peak;
    return nullptr;
}

/// "highest in optimizer_step (step1.optimizer): 11.53 GiB requested; next backward: 9.15 GiB".
std::string moments(const CheckAnswer& answer) {
    const Prediction& p = answer.prediction;
    const PeakResult* highest = peak_named(p, p.highest);
    if (!highest) return {};
    std::string out =
        fmt::format("Highest in {} ({}): {} requested", highest->name, highest->window, size_text(highest->requested));
    if (const PeakResult* second = peak_named(p, answer.runner_up))
        out += fmt::format("; next {} ({}): {}", second->name, second->window, size_text(second->requested));
    return out + ".";
}

std::string verdict_line(const CheckAnswer& answer, const Layout& layout) {
    const Prediction& p = answer.prediction;
    std::string word = "peak";
    std::string rest;
    const char* colour = "1";
    if (p.verdict == Verdict::fits) {
        word = "fits";
        colour = "1;32";
        rest = fmt::format(" on {}: at most {} reserved of {} usable, {} left.", p.device.name,
                           size_text(p.peak.reserved), text_of(p.device.usable), size_text(answer.spare));
    } else if (p.verdict == Verdict::tight) {
        word = "tight";
        colour = "1;33";
        rest = fmt::format(" on {}: at most {} reserved, {}. {}", p.device.name, size_text(p.peak.reserved),
                           usable_text(p), what_decides(p));
    } else if (p.verdict == Verdict::unknown) {
        word = "unknown";
        colour = "1;33";
        rest = fmt::format(
            " on {}: the run reserves at most {} of {} usable, but it is another program than the one that is "
            "predicted, and may need less.",
            p.device.name, size_text(p.peak.reserved), text_of(p.device.usable));
    } else if (p.verdict == Verdict::too_large) {
        word = "too large";
        colour = "1;31";
        rest = fmt::format(" for {}: out of memory in {}; the run reserves {} of {} usable, {} too much.",
                           p.device.name, p.out_of_memory_window, size_text(p.peak.reserved), text_of(p.device.usable),
                           size_text(std::max<std::int64_t>(-answer.spare, 0)));
    } else {
        rest = fmt::format(": at most {} reserved, {} requested. Give --gpu to ask whether it fits.",
                           size_text(p.peak.reserved), size_text(p.peak.requested));
    }
    const std::string text = wrapped(word + rest, layout.width);
    return in_colour(word, colour, layout) + text.substr(word.size()) + wrapped(moments(answer), layout.width);
}

std::string wall_line(const CheckAnswer& answer, const Layout& layout) {
    if (!answer.wall) return {};
    return wrapped(*answer.wall == 0 ? std::string("None of the given sequences fits, however short.")
                                     : fmt::format("Sequences of up to {} tokens fit; {} of the given ones are longer.",
                                                   *answer.wall, answer.rows_beyond_wall),
                   layout.width);
}

std::string edits_text(const PricedChange& change) {
    std::string out;
    for (std::size_t i = 0; i < change.edits.size(); ++i) {
        const TrainerEdit& edit = change.edits[i];
        if (!change.before[i].empty()) out += fmt::format("     -{}: {}\n", edit.key, change.before[i]);
        if (!edit.value.empty()) out += fmt::format("     +{}: {}\n", edit.key, edit.value);
    }
    return out;
}

/// Nothing fits: what was tried, and how much the smallest run misses.
std::string missing_text(const CheckAnswer& answer, const Layout& layout) {
    if (answer.tried.empty())
        return wrapped("There is nothing left to change that would make it smaller.", layout.width);
    std::string text =
        fmt::format("No change makes it fit. Tried, alone and together: {}.", fmt::join(answer.tried, ", "));
    if (!answer.smallest) return wrapped(text, layout.width);
    const PricedChange& run = *answer.smallest;
    text += fmt::format(" The smallest run reserves {}, {} too much", size_text(run.reserved), size_text(-run.spare));
    text += answer.holds_smallest.empty()
                ? "; no known GPU holds it"
                : fmt::format("; the smallest known GPU that holds it: {}", answer.holds_smallest);
    return wrapped(text + (run.edits.empty() ? "." : ":"), layout.width) + edits_text(run);
}

std::string changes_text(const CheckResult& result, const CheckAnswer& answer, const Layout& layout) {
    if (answer.fits() || !result.looked_for_changes) return {};
    if (answer.changes.empty()) return missing_text(answer, layout);
    std::string out = wrapped(
        fmt::format("It fits{} with one of these changes of {}:",
                    answer.prediction.verdict == Verdict::too_large ? "" : " for certain", result.reading.trainer_file),
        layout.width);
    int number = 0;
    for (const PricedChange& change : answer.changes)
        out += "\n" +
               wrapped(fmt::format("{}. {}: {} reserved, {} left", ++number, fmt::join(change.titles, "; "),
                                   size_text(change.reserved), size_text(change.spare)),
                       layout.width) +
               edits_text(change);
    return out;
}

std::string inputs_text(const Reading& reading, const Layout& layout) {
    TextTable table;
    table.columns = {{"field"}, {"value"}, {"from"}};
    for (const Input& input : reading.inputs) {
        std::string from;
        switch (input.source) {
            case InputSource::file: from = fmt::format("{} {}", text_of(input.place), input.key); break;
            case InputSource::trainer_default:
                from = input.key.empty() ? "assumed" : fmt::format("default of {}", input.key);
                break;
            case InputSource::flag: from = input.key; break;
            case InputSource::derived: from = fmt::format("from {}", input.key); break;
        }
        table.rows.push_back({input.field, input.value.empty() ? "-" : input.value, from});
    }
    return text_of(table, layout.table_width);
}

std::string run_text(const CheckReport& report, const Layout& layout) {
    const CheckResult& result = report.result;
    std::string out = files_line(result, layout);
    if (report.explain_inputs) out += "\n" + inputs_text(result.reading, layout);
    Notes notes;  // of the cards and the run, once each
    for (const CheckAnswer& answer : result.answers) {
        out += "\n" + verdict_line(answer, layout) + wall_line(answer, layout) + changes_text(result, answer, layout);
        for (const Note& note : answer.prediction.notes) {
            const bool told =
                std::any_of(notes.begin(), notes.end(), [&](const Note& n) { return n.text == note.text; });
            if (!told) notes.push_back(note);
        }
    }
    std::string said;
    for (const ReadingNote& note : result.reading.notes) {
        said += wrapped(note.text, layout.width, "note: ", "      ");
        if (!note.hint.empty()) said += wrapped(note.hint, layout.width, "hint: ", "      ");
    }
    said += describe(notes, layout.width);
    return said.empty() ? out : out + "\n" + said;
}

std::string names_of(const CheckReport& report) { return fmt::format("{}", fmt::join(report.files, ", ")); }

/// "2 runs: 1 fits, 1 too large or tight."
std::string count_text(const std::vector<CheckReport>& runs, int width) {
    static constexpr const char* kSays[] = {"fits", "too large or tight", "could not be understood", "not supported"};
    std::size_t counts[std::size(kSays)] = {};
    for (const CheckReport& run : runs) {
        const bool passed = run.unsupported() && run.status == 0;
        ++counts[passed ? 3 : static_cast<std::size_t>(run.status)];
    }
    std::string out;
    for (std::size_t i = 0; i < std::size(kSays); ++i)
        if (counts[i] > 0) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", counts[i], kSays[i]);
    return wrapped(fmt::format("{} run{}: {}.", runs.size(), runs.size() == 1 ? "" : "s", out), width);
}

}  // namespace

/// Runs without a result have their errors on standard error.
std::string check_text(const CheckReports& reports, const Layout& layout) {
    if (!reports.each) return run_text(reports.runs.front(), layout);
    std::string out;
    for (const CheckReport& run : reports.runs) {
        if (run.unsupported())
            out += wrapped(fmt::format("{}: not supported", names_of(run)), layout.width);
        else if (!run.problems.empty())
            out += wrapped(fmt::format("{}: could not be understood", names_of(run)), layout.width);
        else
            out += run_text(run, layout);
        out += "\n";
    }
    return out + count_text(reports.runs, layout.width);
}

}  // namespace vramfit::report
