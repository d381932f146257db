// The sweep: what every row requests, then replays from the top down until the ranking is certain.
#include "vramfit/sweep/sweep.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>

#include <fmt/format.h>

#include "base/parallel.hpp"
#include "predict/peaks.hpp"
#include "sweep/cards.hpp"
#include "sweep/ranking.hpp"
#include "sweep/row_replays.hpp"
#include "sweep/search.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/predict/predict.hpp"

namespace vramfit {

namespace {

/// What a search of one set of targets has found.
struct Searched {
    std::vector<SweepRow> rows;
    bool any_valid = false;
    std::optional<Error> problem;  ///< of the first invalid row
    Notes notes;
    std::size_t recorded = 0;
    std::optional<Error> impossible;  ///< the whole question is
};

/// Settles the rows of all questions: each set of targets is a task of its own, their answers are put together in
/// order.
class Settling {
  public:
    Settling(std::span<const SweepQuestion> questions, const SweepOptions& options, RowReplays& replays,
             SweepResult& result)
        : questions_(questions), options_(options), replays_(replays), result_(result) {
        result.first_rows = first_rows_of(questions);
        progress_.total = result.first_rows.back();
        result.first_rows.pop_back();
    }

    /// Throws the first question's error if no question has a valid row.
    void settle_all() {
        std::vector<std::pair<std::size_t, std::size_t>> tasks;
        for (std::size_t q = 0; q < questions_.size(); ++q)
            for (std::size_t t = 0; t < questions_[q].space.targets.size(); ++t) tasks.emplace_back(q, t);
        std::vector<Searched> found(tasks.size());
        for_each_index(tasks.size(), options_.threads,
                       [&](std::size_t i) { found[i] = search(tasks[i].first, tasks[i].second); });
        result_.stopped = stopped_;
        result_.rows.reserve(progress_.total);
        std::span<Searched> rest = found;
        for (std::size_t q = 0; q < questions_.size(); ++q) {
            const std::size_t targets = questions_[q].space.targets.size();
            take(q, rest.first(targets));
            rest = rest.subspan(targets);
        }
        const auto counts = [](const SweepRow& row) {
            return row.status != RowStatus::invalid && row.status != RowStatus::outside;
        };
        if (problem_ && std::none_of(result_.rows.begin(), result_.rows.end(), counts)) throw *problem_;
    }

  private:
    bool settled() {
        const std::scoped_lock lock(mutex_);
        ++progress_.settled;
        if (options_.progress) options_.progress(progress_);
        if (options_.stop && options_.stop()) stopped_ = true;
        return !stopped_;
    }

    std::optional<RowStatus> left_out(std::size_t question, std::size_t place) const {
        if (stopped_ || !options_.shard.holds(result_.first_rows[question] + place, progress_.total))
            return RowStatus::open;
        if (!within(options_.bounds, questions_[question], place)) return RowStatus::outside;
        return std::nullopt;
    }

    Searched search(std::size_t q, std::size_t target) {
        try {
            Search search(
                questions_[q], target, options_, [this, q](std::size_t place) { return left_out(q, place); },
                [this, q, target] { return replays_.taker(q, target); });
            search.settle([this] { return settled(); });
            return {search.take_rows(), search.any_valid(), search.problem(), search.notes(), search.recorded(), {}};
        } catch (const Error& e) {
            Searched out;
            out.impossible = e;
            return out;
        }
    }

    void take(std::size_t q, std::span<Searched> found) {
        std::optional<Error> impossible, problem;
        bool any = false;
        for (const Searched& f : found) {
            if (!impossible) impossible = f.impossible;
            if (!problem) problem = f.problem;
            any = any || f.any_valid;
        }
        if (!any) {
            if (!impossible) impossible = problem;
            if (impossible && !problem_) problem_ = impossible;
        }
        for (std::size_t target = 0; target < found.size(); ++target) {
            Searched& f = found[target];
            if (f.impossible || (impossible && !any)) {
                take_impossible(q, target, f.impossible.value_or(*impossible));
                continue;
            }
            take_rows(q, std::move(f.rows));
            result_.counts.recorded += f.recorded;
            result_.notes.insert(result_.notes.end(), f.notes.begin(), f.notes.end());
        }
    }

    void take_rows(std::size_t q, std::vector<SweepRow> rows) {
        for (SweepRow& row : rows) {
            row.number = result_.rows.size();
            row.question = q;
            if (row.ruled_out_by) *row.ruled_out_by += result_.first_rows[q];
            result_.rows.push_back(std::move(row));
        }
    }

    /// All rows of a set of targets are invalid for the same reason.
    void take_impossible(std::size_t q, std::size_t target, const Error& error) {
        const SweepSpace& space = questions_[q].space;
        const std::size_t end = row_at(space, {.target = target + 1});
        for (std::size_t place = row_at(space, {.target = target}); place < end; ++place) {
            SweepRow row;
            row.number = result_.rows.size();
            row.question = q;
            row.status = left_out(q, place).value_or(RowStatus::invalid);
            if (row.status == RowStatus::invalid) row.problem = error.problems()[0].what;
            result_.rows.push_back(std::move(row));
        }
    }

    std::span<const SweepQuestion> questions_;
    const SweepOptions& options_;
    RowReplays& replays_;
    SweepResult& result_;
    std::mutex mutex_;  ///< of progress_
    SweepProgress progress_;
    std::atomic<bool> stopped_ = false;
    std::optional<Error> problem_;  ///< of the first question without a valid row
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
    RowReplays replays(questions);
    Settling(questions, options, replays, result).settle_all();
    const auto decide = [&](SweepRow& row) {
        if (options.prune)
            replays.settle(row, result.place_of(row));
        else
            predict_row(questions[row.question], result, row);
    };
    const bool all = options.selection.top == 0 || !options.prune;
    rank_rows(questions, options.selection, candidates(result), {decide, all, options.threads}, options.stop, result);
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
    rank_rows(questions, options.selection, std::move(fitting), {}, nullptr, result);
    keep_one_of_each(result.notes);
    return result;
}

}  // namespace vramfit
