// Bisection where formulas prove growth, a scan where they do not, and replays from the largest candidate down.
#include "vramfit/sweep/largest.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "base/parallel.hpp"

#include "sweep/cards.hpp"
#include "sweep/formulas.hpp"
#include "sweep/leaner_rows.hpp"
#include "sweep/row_replays.hpp"
#include "sweep/watch.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/lengths.hpp"
#include "vramfit/spec/plan_check.hpp"

namespace vramfit {

namespace {

const std::vector<std::int64_t>& values_of(const SweepSpace& space, SweepAxis axis) {
    switch (axis) {
        case SweepAxis::rank: return space.ranks;
        case SweepAxis::batch: return space.batches;
        case SweepAxis::length: break;
    }
    return space.lengths;
}

std::size_t& position(Coordinates& at, SweepAxis axis) {
    switch (axis) {
        case SweepAxis::rank: return at.rank;
        case SweepAxis::batch: return at.batch;
        case SweepAxis::length: break;
    }
    return at.length;
}

/// What is found for one set of targets of a question.
struct ColumnsFound {
    std::vector<LargestRow> rows;
    std::size_t looked_at = 0;
    std::size_t recorded = 0;
    std::size_t replayed = 0;
    bool any_valid = false;
    std::optional<Error> problem;  ///< of the first invalid row
};

/// One question with all that is known of the rows of a set of targets.
struct Asked {
    const SweepQuestion& question;
    std::size_t number;  ///< among the questions
    std::size_t first_row;
    const SweepOptions& options;
    SweepWatch& watch;
    RowReplays& replays;
    TargetFormulas formulas{question};
    RowAxes axes{question};
    PlanChecker checker{question.model, question.stack};
    std::map<std::size_t, PathGrowth> growth = {};  ///< by path
    ColumnsFound found = {};

    /// Whether all rows between two rows of a path that differ in one axis lie between them in size.
    bool rises_between(std::size_t path, std::size_t low, std::size_t high) {
        auto known = growth.find(path);
        if (known == growth.end()) {
            const TrainPlan plan = plan_of(question.space, question.base, low);
            known = growth
                        .emplace(path, model::growth_of_path(question.model, plan, question.stack, question.device,
                                                             axes.ranges()))
                        .first;
        }
        return known->second.proves(axes.values(low).all(), axes.values(high).all());
    }
};

/// All values of the axis with one combination of the others.
class Column {
  public:
    Column(Asked& asked, SweepAxis axis, Coordinates at) : asked_(asked), axis_(axis), at_(at) {
        const auto& values = values_of(asked.question.space, axis);
        order_.resize(values.size());
        std::iota(order_.begin(), order_.end(), std::size_t{0});
        std::sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
    }

    /// The row of the largest value that fits.
    std::optional<LargestRow> solve() {
        const std::size_t last = order_.size() - 1;
        for (auto at = last_within(0, last); at; at = *at == 0 ? std::nullopt : last_within(0, *at - 1)) {
            if (!asked_.watch.goes_on()) return std::nullopt;
            SweepRow row = row_of(*at);
            ++asked_.found.replayed;
            asked_.replays.settle(row, place_of(*at));
            if (row.verdict == Verdict::fits) return LargestRow{std::move(row), how(*at), looks_.size()};
        }
        return std::nullopt;
    }

    std::size_t looked_at() const { return looks_.size(); }
    bool any_valid() const {
        return std::any_of(looks_.begin(), looks_.end(), [](const auto& look) { return look.second.valid; });
    }

  private:
    struct Look {
        bool valid = false;   ///< a run that can be, within the bounds
        bool within = false;  ///< requests no more than the card has
        std::size_t path = 0;
        std::int64_t requested = 0;
    };

    std::size_t place_of(std::size_t i) const {
        Coordinates at = at_;
        position(at, axis_) = order_[i];
        return row_at(asked_.question.space, at);
    }

    const Look& look(std::size_t i) {
        const auto [known, is_new] = looks_.try_emplace(i);
        if (!is_new) return known->second;
        const SweepQuestion& q = asked_.question;
        const std::size_t place = place_of(i);
        Look& out = known->second;
        if (!vramfit::within(asked_.options.bounds, q, place)) return out;
        try {
            asked_.checker.check(plan_of(q.space, q.base, place));
            out.path = asked_.formulas.path_of(place);
        } catch (const Error& e) {
            if (!asked_.found.problem) asked_.found.problem = e;
            return out;
        }
        const Highest highest = asked_.formulas.highest();
        out.requested = highest.requested;
        out.valid = true;
        const std::int64_t limit = q.device.usable_low().count;
        out.within = out.requested <= limit ||
                     may_fit_leaner(
                         q, place, [this] { return asked_.formulas.highest_but_in(PhaseKind::head); }, limit);
        return out;
    }

    /// The largest of these values that requests no more than the card has. What is between two rows of a path that
    /// rises is between their sizes; elsewhere every value is looked at.
    std::optional<std::size_t> last_within(std::size_t low, std::size_t high) {
        if (look(high).within) return high;
        if (low == high) return std::nullopt;
        if (rises(low, high)) {
            if (!look(low).within) return std::nullopt;
            while (high - low > 1) {
                const std::size_t middle = low + (high - low) / 2;
                (look(middle).within ? low : high) = middle;
            }
            return low;
        }
        const std::size_t middle = low + (high - low) / 2;
        if (const auto found = last_within(middle + 1, high)) return found;
        return last_within(low, middle);
    }

    bool rises(std::size_t low, std::size_t high) {
        const Look a = look(low), b = look(high);
        return a.valid && b.valid && a.path == b.path && asked_.rises_between(a.path, place_of(low), place_of(high));
    }

    /// A scan has looked at every value above the answer.
    LargestHow how(std::size_t found) const {
        const std::size_t above = order_.size() - 1 - found;
        if (above == 0) return LargestHow::end_of_range;
        const auto looked = std::distance(looks_.upper_bound(found), looks_.end());
        return above > 1 && static_cast<std::size_t>(looked) < above ? LargestHow::bisection : LargestHow::scan;
    }

    SweepRow row_of(std::size_t i) {
        const Look& known = look(i);
        SweepRow row;
        row.number = asked_.first_row + place_of(i);
        row.question = asked_.number;
        row.status = RowStatus::simulated;
        row.path = known.path;
        row.requested = known.requested;
        row.utilization = asked_.question.utilization(known.requested);
        return row;
    }

    Asked& asked_;
    SweepAxis axis_;
    Coordinates at_;
    std::vector<std::size_t> order_;  ///< positions on the axis by rising value
    std::map<std::size_t, Look> looks_;
};

/// Every combination of the other axes with a set of targets: the first position of the axis stands for it.
std::vector<Coordinates> columns_of(const SweepSpace& space, std::size_t target, SweepAxis axis) {
    std::vector<Coordinates> out;
    const auto count = [&](SweepAxis of) { return of == axis ? 1 : values_of(space, of).size(); };
    for (std::size_t rank = 0; rank < count(SweepAxis::rank); ++rank)
        for (std::size_t batch = 0; batch < count(SweepAxis::batch); ++batch)
            for (std::size_t length = 0; length < count(SweepAxis::length); ++length)
                out.push_back({target, rank, batch, length});
    return out;
}

/// The columns of a set of targets of a question.
struct ColumnsTask {
    std::size_t question;
    std::size_t target;
    std::vector<Coordinates> columns;
};

/// The columns of all questions: each set of targets is a task of its own.
std::vector<ColumnsTask> tasks_of(std::span<const SweepQuestion> questions, SweepAxis axis) {
    std::vector<ColumnsTask> out;
    for (std::size_t q = 0; q < questions.size(); ++q)
        for (std::size_t t = 0; t < questions[q].space.targets.size(); ++t)
            out.push_back({q, t, columns_of(questions[q].space, t, axis)});
    return out;
}

ColumnsFound solve(Asked asked, SweepAxis axis, const std::vector<Coordinates>& columns) {
    for (const Coordinates& at : columns) {
        Column column(asked, axis, at);
        if (auto found = column.solve()) asked.found.rows.push_back(std::move(*found));
        asked.found.any_valid = asked.found.any_valid || column.any_valid();
        asked.found.looked_at += column.looked_at();
        if (!asked.watch.settled()) break;
    }
    asked.found.recorded = asked.formulas.recorded();
    return std::move(asked.found);
}

}  // namespace

LargestAnswer largest(std::span<const SweepQuestion> questions, const SweepOptions& options, SweepAxis axis) {
    for (const SweepQuestion& q : questions) {
        if (may_generate(q.base.loop.kind))
            throw Error(ErrorKind::unsupported, "--max", "the largest value of a run that generates is not searched",
                        "list the values: --completion 256,512 --batch 8,16");
        if (lengths_are_apart(q.model, q.base))
            throw Error(ErrorKind::unsupported, "--max",
                        fmt::format("the largest value for {}, which goes over rows in rounds, is not searched",
                                    q.model.model_type),
                        "list the values: --seq 2048,4096 --batch 1,2,4");
    }
    LargestAnswer answer;
    SweepResult& result = answer.result;
    result.notes = notes_of_cards(questions);
    keep_one_of_each(result.notes);
    for (const SweepQuestion& q : questions) {
        result.first_rows.push_back(result.counts.total);
        result.counts.total += row_count(q.space);
    }
    check_bounds(options.bounds, questions);
    const std::vector<ColumnsTask> tasks = tasks_of(questions, axis);
    for (const ColumnsTask& task : tasks) answer.combinations += task.columns.size();
    SweepWatch watch(options, answer.combinations);
    RowReplays replays(questions);
    std::vector<ColumnsFound> all(tasks.size());
    for_each_index(tasks.size(), options.threads, [&](std::size_t i) {
        const std::size_t q = tasks[i].question;
        all[i] = solve({questions[q], q, result.first_rows[q], options, watch, replays}, axis, tasks[i].columns);
    });
    std::optional<Error> problem;
    bool any = false;
    for (ColumnsFound& found : all) {
        std::move(found.rows.begin(), found.rows.end(), std::back_inserter(answer.rows));
        result.counts.simulated += found.looked_at;
        result.counts.recorded += found.recorded;
        result.counts.replayed += found.replayed;
        any = any || found.any_valid;
        if (!problem) problem = found.problem;
    }
    if (!any && problem) throw *problem;
    result.stopped = watch.stopped();
    for (const LargestRow& row : answer.rows) {
        result.ranking.push_back(result.rows.size());
        result.rows.push_back(row.row);
    }
    return answer;
}

}  // namespace vramfit
