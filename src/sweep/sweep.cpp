// The sweep: what every row requests, then replays from the top down until the ranking is certain.
#include "vramfit/sweep/sweep.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/parallel.hpp"
#include "predict/ends_vllm.hpp"
#include "predict/peaks.hpp"
#include "predict/unsloth_on_card.hpp"
#include "sweep/cards.hpp"
#include "sweep/ranking.hpp"
#include "sweep/row_replays.hpp"
#include "sweep/search.hpp"
#include "sweep/watch.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/predict/predict.hpp"
#include "vramfit/spec/lengths.hpp"

namespace vramfit {

namespace {

/// What a search of one set of targets has found, beside its rows.
struct Searched {
    bool any_valid = false;
    std::optional<Error> problem;  ///< of the first invalid row
    Notes notes;
    std::size_t recorded = 0;
    std::optional<Error> impossible;  ///< the whole question is
};

/// Settles the rows of all questions: each set of targets is a task of its own, which fills its own rows.
class Settling {
  public:
    Settling(std::span<const SweepQuestion> questions, const SweepOptions& options, RowReplays& replays,
             SweepResult& result)
        : questions_(questions), options_(options), replays_(replays), result_(result), watch_(options, all_rows()) {
        result_.rows.resize(watch_.total());
    }

    /// Throws the first question's error if no question has a valid row.
    void settle_all() {
        std::vector<std::pair<std::size_t, std::size_t>> tasks;
        for (std::size_t q = 0; q < questions_.size(); ++q)
            for (std::size_t t = 0; t < questions_[q].space.targets.size(); ++t) tasks.emplace_back(q, t);
        std::vector<Searched> found(tasks.size());
        for_each_index(tasks.size(), options_.threads,
                       [&](std::size_t i) { found[i] = search(tasks[i].first, tasks[i].second); });
        result_.stopped = watch_.stopped();
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
    std::size_t all_rows() {
        result_.first_rows = first_rows_of(questions_);
        const std::size_t all = result_.first_rows.back();
        result_.first_rows.pop_back();
        return all;
    }

    std::optional<RowStatus> left_out(std::size_t question, std::size_t place) const {
        if (watch_.stopped() || !options_.shard.holds(result_.first_rows[question] + place, watch_.total()))
            return RowStatus::open;
        if (!within(options_.bounds, questions_[question], place)) return RowStatus::outside;
        return std::nullopt;
    }

    std::span<SweepRow> rows_of(std::size_t q, std::size_t target) {
        const SweepSpace& space = questions_[q].space;
        const std::size_t first = row_at(space, {.target = target}), end = row_at(space, {.target = target + 1});
        return std::span(result_.rows).subspan(result_.first_rows[q] + first, end - first);
    }

    Searched search(std::size_t q, std::size_t target) {
        try {
            check_vllm_starts(questions_[q].model, questions_[q].base, questions_[q].device);
            Search search(
                questions_[q], target, rows_of(q, target), options_,
                [this, q](std::size_t place) { return left_out(q, place); },
                [this, q, target] { return replays_.taker(q, target); });
            search.settle([this] { return watch_.settled(); });
            return {search.any_valid(), search.problem(), search.notes(), search.recorded(), {}};
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
            if (f.impossible) take_impossible(q, target, *f.impossible);
            take_rows(q, target);
            result_.counts.recorded += f.recorded;
            result_.notes.insert(result_.notes.end(), f.notes.begin(), f.notes.end());
        }
    }

    /// Numbers of rows within a question become those among all.
    void take_rows(std::size_t q, std::size_t target) {
        const std::size_t first = result_.first_rows[q];
        for (SweepRow& row : rows_of(q, target)) {
            row.number = static_cast<std::size_t>(&row - result_.rows.data());
            row.question = q;
            if (row.ruled_out_by) *row.ruled_out_by += first;
        }
    }

    /// All rows of a set of targets are invalid for the same reason.
    void take_impossible(std::size_t q, std::size_t target, const Error& error) {
        std::size_t place = row_at(questions_[q].space, {.target = target});
        for (SweepRow& row : rows_of(q, target)) {
            row = {};
            row.status = left_out(q, place++).value_or(RowStatus::invalid);
            if (row.status == RowStatus::invalid) row.problem = error.problems()[0].what;
        }
    }

    std::span<const SweepQuestion> questions_;
    const SweepOptions& options_;
    RowReplays& replays_;
    SweepResult& result_;
    SweepWatch watch_;
    std::optional<Error> problem_;  ///< of the first question without a valid row
};

/// Runs a row by itself: what its replay is checked against.
void predict_row(const SweepQuestion& question, const SweepResult& result, SweepRow& row) {
    const TrainPlan plan = plan_of(question.space, question.base, result.place_of(row));
    const Prediction p = predict(question.model, plan, question.stack, question.device);
    row.verdict = p.verdict;
    if (row.verdict == Verdict::fits) show_run(row, p.peak, highest_of(p.peaks));
}

/// Simulated rows that may fit at the worst end of what is assumed; with `all` those also that may at the best.
std::vector<std::size_t> candidates(std::span<const SweepQuestion> questions, const SweepResult& result, bool all) {
    std::vector<std::size_t> out;
    for (const SweepRow& r : result.rows) {
        if (r.status != RowStatus::simulated || r.verdict == Verdict::too_large) continue;
        const SweepQuestion& q = questions[r.question];
        if (all || asks_card(q.base, q.device) || r.requested <= q.device.usable_low().count) out.push_back(r.number);
    }
    return out;
}

/// Why the first invalid row is that, and whether others have other reasons.
void find_problem(SweepResult& result) {
    for (const SweepRow& row : result.rows) {
        if (row.status != RowStatus::invalid || row.problem == result.problem) continue;
        if (!result.problem.empty()) {
            result.other_problems = true;
            return;
        }
        result.problem = row.problem;
    }
}

void count(std::span<const SweepQuestion> questions, SweepResult& result) {
    SweepCounts& counts = result.counts;
    counts = {.total = result.rows.size(), .recorded = counts.recorded, .replayed = counts.replayed};
    for (const SweepRow& r : result.rows) {
        result.counts.simulated += r.status == RowStatus::simulated;
        result.counts.ruled_out += r.status == RowStatus::ruled_out;
        result.counts.invalid += r.status == RowStatus::invalid;
        result.counts.outside += r.status == RowStatus::outside;
        result.counts.open += r.status == RowStatus::open;
        result.counts.tight += r.verdict == Verdict::tight;
        result.counts.undecided += r.status == RowStatus::simulated && !r.verdict &&
                                   r.requested > questions[r.question].device.usable_low().count;
    }
}

/// The row that requests least; rows that are ruled out need no less than one that was asked.
std::optional<NearestMiss> nearest_miss(std::span<const SweepQuestion> questions, const SweepResult& result) {
    const SweepRow* least = nullptr;
    for (const SweepRow& row : result.rows)
        if (row.status == RowStatus::simulated && (!least || row.requested < least->requested)) least = &row;
    if (!least) return std::nullopt;
    const SweepQuestion& q = questions[least->question];
    const Judgement judged =
        judge(Job{q.model, plan_of(q.space, q.base, result.place_of(*least)), q.stack, q.device, {}});
    return NearestMiss{least->number, judged.verdict(), judged.peak.reserved,
                       std::max<std::int64_t>(-judged.spare(), 0)};
}

/// Counts of another part of the same rows.
void add(const SweepCounts& part, SweepCounts& sum) {
    sum.simulated += part.simulated;
    sum.recorded += part.recorded;
    sum.replayed += part.replayed;
    sum.ruled_out += part.ruled_out;
    sum.invalid += part.invalid;
    sum.outside += part.outside;
    sum.tight += part.tight;
    sum.undecided += part.undecided;
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

namespace {

/// Without formulas there is no early stopping.
SweepOptions options_for(std::span<const SweepQuestion> questions, SweepOptions options) {
    const auto apart = [](const SweepQuestion& q) { return lengths_are_apart(q.model, q.base); };
    if (std::any_of(questions.begin(), questions.end(), apart)) options.prune = false;
    return options;
}

}  // namespace

SweepResult sweep(std::span<const SweepQuestion> questions, const SweepOptions& asked) {
    const SweepOptions options = options_for(questions, asked);
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
    const bool all = options.selection.top == 0 || !asked.prune;
    rank_rows(questions, options.selection, candidates(questions, result, all), {decide, all, options.threads},
              options.stop, result);
    count(questions, result);
    find_problem(result);
    keep_one_of_each(result.notes);
    if (result.ranking.empty() && !result.stopped && options.shard.of == 1)
        result.nearest = nearest_miss(questions, result);
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
        result.other_problems = result.other_problems || part.other_problems ||
                                (!part.problem.empty() && !result.problem.empty() && part.problem != result.problem);
        if (result.problem.empty()) result.problem = part.problem;
        result.stopped = result.stopped || part.stopped;
        result.notes.insert(result.notes.end(), part.notes.begin(), part.notes.end());
    }
    rank_rows(questions, options.selection, std::move(fitting), {}, nullptr, result);
    keep_one_of_each(result.notes);
    return result;
}

}  // namespace vramfit
