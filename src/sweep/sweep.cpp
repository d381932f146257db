// The sweep: what every row requests, then replays from the top down until the ranking is certain.
#include "vramfit/sweep/sweep.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "predict/peaks.hpp"
#include "sweep/cards.hpp"
#include "sweep/ranking.hpp"
#include "sweep/row_replays.hpp"
#include "sweep/search.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/predict/predict.hpp"

namespace vramfit {

namespace {

/// Settles the rows of all questions, one question after the other.
class Settling {
  public:
    Settling(std::span<const SweepQuestion> questions, const SweepOptions& options, SweepResult& result)
        : questions_(questions), options_(options), result_(result) {
        result.first_rows = first_rows_of(questions);
        progress_.total = result.first_rows.back();
        result.first_rows.pop_back();
        result.rows.reserve(progress_.total);
    }

    /// Throws the first question's error if no question has a valid row.
    void settle_all() {
        bool any = false;
        for (std::size_t q = 0; q < questions_.size(); ++q)
            for (SweepRow& row : rows_of(q)) {
                row.number = result_.rows.size();
                row.question = q;
                if (row.ruled_out_by) *row.ruled_out_by += result_.first_rows[q];
                any = any || (row.status != RowStatus::invalid && row.status != RowStatus::outside);
                result_.rows.push_back(std::move(row));
            }
        if (!any) throw *problem_;
    }

  private:
    bool settled() {
        ++progress_.settled;
        if (options_.progress) options_.progress(progress_);
        result_.stopped = result_.stopped || (options_.stop && options_.stop());
        return !result_.stopped;
    }

    std::optional<RowStatus> left_out(std::size_t question, std::size_t place) const {
        if (result_.stopped || !options_.shard.holds(result_.first_rows[question] + place, progress_.total))
            return RowStatus::open;
        if (!within(options_.bounds, questions_[question], place)) return RowStatus::outside;
        return std::nullopt;
    }

    /// All of them invalid if one of several questions is impossible as a whole.
    std::vector<SweepRow> rows_of(std::size_t q) {
        try {
            Search search(questions_[q], options_, [this, q](std::size_t place) { return left_out(q, place); });
            search.settle([this] { return settled(); });
            result_.counts.recorded += search.recorded();
            result_.notes.insert(result_.notes.end(), search.notes().begin(), search.notes().end());
            return search.take_rows();
        } catch (const Error& e) {
            if (!problem_) problem_ = e;
            std::vector<SweepRow> rows(row_count(questions_[q].space));
            for (std::size_t place = 0; place < rows.size(); ++place) {
                rows[place].status = left_out(q, place).value_or(RowStatus::invalid);
                if (rows[place].status == RowStatus::invalid) rows[place].problem = e.problems()[0].what;
                settled();
            }
            return rows;
        }
    }

    std::span<const SweepQuestion> questions_;
    const SweepOptions& options_;
    SweepResult& result_;
    SweepProgress progress_;
    std::optional<Error> problem_;
};

/// Runs a row by itself: what its replay is checked against.
void predict_row(const SweepQuestion& question, const SweepResult& result, SweepRow& row) {
    const TrainPlan plan = plan_of(question.space, question.base, result.place_of(row));
    const Prediction p = predict(question.model, plan, question.stack, question.device);
    row.verdict = p.verdict;
    if (row.verdict == Verdict::fits) show_peak(row, highest_of(p.peaks));
}

/// Simulated rows within their card.
std::vector<std::size_t> candidates(const SweepResult& result) {
    std::vector<std::size_t> out;
    for (const SweepRow& r : result.rows)
        if (r.status == RowStatus::simulated && r.verdict != Verdict::too_large) out.push_back(r.number);
    return out;
}

void count(SweepResult& result) {
    SweepCounts& counts = result.counts;
    counts = {.total = result.rows.size(), .recorded = counts.recorded, .replayed = counts.replayed};
    for (const SweepRow& r : result.rows) {
        result.counts.simulated += r.status == RowStatus::simulated;
        result.counts.ruled_out += r.status == RowStatus::ruled_out;
        result.counts.invalid += r.status == RowStatus::invalid;
        result.counts.outside += r.status == RowStatus::outside;
        result.counts.open += r.status == RowStatus::open;
    }
}

/// Counts of another part of the same rows.
void add(const SweepCounts& part, SweepCounts& sum) {
    sum.simulated += part.simulated;
    sum.recorded += part.recorded;
    sum.replayed += part.replayed;
    sum.ruled_out += part.ruled_out;
    sum.invalid += part.invalid;
    sum.outside += part.outside;
    sum.open -= part.total - part.open;
}

}  // namespace

std::vector<std::size_t> first_rows_of(std::span<const SweepQuestion> questions) {
    std::vector<std::size_t> out = {0};
    for (const SweepQuestion& question : questions) out.push_back(out.back() + row_count(question.space));
    if (out.back() > kMostRowsHeld)
        throw Error(
            ErrorKind::invalid, "sweep", fmt::format("{} configurations are too many", out.back()),
            fmt::format("a ranking holds at most {}: shorten an axis, or ask for the largest value of one with --max",
                        kMostRowsHeld));
    return out;
}

SweepResult sweep(std::span<const SweepQuestion> questions, const SweepOptions& options) {
    SweepResult result;
    result.notes = notes_of_cards(questions);
    check_bounds(options.bounds, questions);
    Settling(questions, options, result).settle_all();
    RowReplays replays(questions);
    const auto fits = [&](SweepRow& row) {
        ++result.counts.replayed;
        if (options.prune)
            replays.settle(row, result.place_of(row));
        else
            predict_row(questions[row.question], result, row);
        return row.verdict == Verdict::fits;
    };
    const bool all = options.selection.top == 0 || !options.prune;
    rank_rows(questions, options.selection, all, candidates(result), fits, options.stop, result);
    count(result);
    keep_one_of_each(result.notes);
    return result;
}

SweepResult merged(std::span<const SweepQuestion> questions, const SweepOptions& options,
                   std::vector<SweepResult> parts) {
    SweepResult result = std::move(parts.front());
    std::vector<std::size_t> fitting = std::move(result.ranking);
    result.ranking.clear();
    for (std::size_t i = 1; i < parts.size(); ++i) {
        SweepResult& part = parts[i];
        for (std::size_t n = 0; n < part.rows.size(); ++n)
            if (part.rows[n].status != RowStatus::open) result.rows[n] = std::move(part.rows[n]);
        fitting.insert(fitting.end(), part.ranking.begin(), part.ranking.end());
        add(part.counts, result.counts);
        result.stopped = result.stopped || part.stopped;
        result.notes.insert(result.notes.end(), part.notes.begin(), part.notes.end());
    }
    const auto known = [](SweepRow&) { return true; };
    rank_rows(questions, options.selection, false, std::move(fitting), known, nullptr, result);
    keep_one_of_each(result.notes);
    return result;
}

}  // namespace vramfit
