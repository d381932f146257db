// The sweep: what every row requests, then replays from the top down until the ranking is certain.
#include "vramfit/sweep/sweep.hpp"

#include <algorithm>

#include "predict/peaks.hpp"
#include "sweep/row_replays.hpp"
#include "sweep/search.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/predict/predict.hpp"

namespace vramfit {

namespace {

/// Every row of one question; all of them invalid if one of several questions is impossible as a whole.
std::vector<SweepRow> settled_rows(const SweepQuestion& question, const SweepOptions& options, SweepResult& result,
                                   const std::function<void()>& settled, std::optional<Error>& problem) {
    try {
        Search search(question, options.prune);
        search.settle(settled);
        result.counts.recorded += search.recorded();
        result.notes.insert(result.notes.end(), search.notes().begin(), search.notes().end());
        return search.take_rows();
    } catch (const Error& e) {
        if (!problem) problem = e;
        std::vector<SweepRow> rows(row_count(question.space));
        for (SweepRow& row : rows) {
            row.problem = e.problems()[0].what;
            settled();
        }
        return rows;
    }
}

/// All rows of all questions, numbered through. Throws the first question's error if none has a valid row.
void settle_all(std::span<const SweepQuestion> questions, const SweepOptions& options, SweepResult& result) {
    SweepProgress progress;
    for (const SweepQuestion& question : questions) progress.total += row_count(question.space);
    const auto settled = [&] {
        ++progress.settled;
        if (options.progress) options.progress(progress);
    };
    std::optional<Error> problem;
    bool any = false;
    for (std::size_t q = 0; q < questions.size(); ++q) {
        const std::size_t first = result.rows.size();
        result.first_rows.push_back(first);
        for (SweepRow& row : settled_rows(questions[q], options, result, settled, problem)) {
            row.number = result.rows.size();
            row.question = q;
            if (row.ruled_out_by) *row.ruled_out_by += first;
            any = any || row.status != RowStatus::invalid;
            result.rows.push_back(std::move(row));
        }
    }
    if (!any) throw *problem;
}

/// Runs a row by itself: what its replay is checked against.
void predict_row(const SweepQuestion& question, const SweepResult& result, SweepRow& row) {
    const TrainPlan plan = plan_of(question.space, question.base, result.place_of(row));
    const Prediction p = predict(question.model, plan, question.stack, question.device);
    row.verdict = p.verdict;
    if (row.verdict == Verdict::fits) show_peak(row, highest_of(p.peaks));
}

/// Simulated rows within their card, the closest to its capacity first (ties: smaller number first).
std::vector<std::size_t> candidates(const SweepResult& result) {
    std::vector<std::size_t> out;
    for (const SweepRow& r : result.rows)
        if (r.status == RowStatus::simulated && r.verdict != Verdict::too_large) out.push_back(r.number);
    std::stable_sort(out.begin(), out.end(), [&result](std::size_t a, std::size_t b) {
        return result.rows[a].utilization > result.rows[b].utilization;
    });
    return out;
}

void count(SweepResult& result) {
    result.counts.total = result.rows.size();
    for (const SweepRow& r : result.rows) {
        result.counts.simulated += r.status == RowStatus::simulated;
        result.counts.ruled_out += r.status == RowStatus::ruled_out;
        result.counts.invalid += r.status == RowStatus::invalid;
    }
}

/// The first of each kind and text.
void keep_one_of_each(Notes& notes) {
    Notes out;
    for (Note& note : notes) {
        const auto same = [&note](const Note& n) { return n.kind == note.kind && n.text == note.text; };
        if (std::none_of(out.begin(), out.end(), same)) out.push_back(std::move(note));
    }
    notes = std::move(out);
}

}  // namespace

SweepResult sweep(std::span<const SweepQuestion> questions, const SweepOptions& options) {
    SweepResult result;
    for (const SweepQuestion& question : questions) {
        if (!question.device.capacity_known)
            throw Error(ErrorKind::invalid, "--gpu", "a sweep needs a card to fill",
                        "give one, e.g. --gpu 24GiB or --gpu rtx4090");
        result.notes.insert(result.notes.end(), question.device.notes.begin(), question.device.notes.end());
    }
    settle_all(questions, options, result);
    const bool all = options.top == 0 || !options.prune;
    RowReplays replays(questions);
    for (const std::size_t number : candidates(result)) {
        if (!all && result.ranking.size() >= options.top) break;
        SweepRow& row = result.rows[number];
        ++result.counts.replayed;
        if (options.prune)
            replays.settle(row, result.place_of(row));
        else
            predict_row(questions[row.question], result, row);
        if (row.verdict == Verdict::fits) result.ranking.push_back(number);
    }
    count(result);
    keep_one_of_each(result.notes);
    return result;
}

}  // namespace vramfit
