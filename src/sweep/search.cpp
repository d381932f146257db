// Rows by rising axes, so that proofs come before what follows from them.
#include "sweep/search.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "model/record.hpp"
#include "predict/peaks.hpp"
#include "vramfit/peaks/peak.hpp"
#include "vramfit/spec/plan_check.hpp"

namespace vramfit {

/// Rows by rising rank, batch and length, whatever the order in which the axes are given.
std::vector<std::size_t> Search::by_rising_axes() const {
    const SweepSpace& space = question_.space;
    std::vector<std::size_t> order(rows_.size());
    std::iota(order.begin(), order.end(), first_);
    const auto rises = [](const std::vector<std::int64_t>& axis) { return std::is_sorted(axis.begin(), axis.end()); };
    if (rises(space.ranks) && rises(space.batches) && rises(space.lengths)) return order;
    const auto key = [&space](std::size_t row) {
        const Coordinates c = coordinates_of(space, row);
        return std::tuple(space.ranks[c.rank], space.batches[c.batch], space.lengths[c.length]);
    };
    std::sort(order.begin(), order.end(), [&key](std::size_t a, std::size_t b) { return key(a) < key(b); });
    return order;
}

Search::Search(const SweepQuestion& question, std::size_t target, const SweepOptions& options, const LeftOut& left_out,
               std::function<TargetFormulas::TakeProgram()> take)
    : question_(question),
      dominance_(options.dominance),
      limit_(question.device.usable.count),
      peaks_(peaks_in_order()),
      first_(row_at(question.space, {.target = target})),
      rows_(row_at(question.space, {.target = target + 1}) - first_) {
    validate(left_out);
    if (options.prune) formulas_.emplace(question_, std::move(take));
}

/// One note of a kind is enough: that of the last row, which is the longest where lengths rise.
void Search::note(const Notes& notes) {
    for (const Note& n : notes) {
        std::erase_if(notes_, [&n](const Note& other) { return other.kind == n.kind; });
        notes_.push_back(n);
    }
}

/// Rows that no run can have are marked with the reason.
void Search::validate(const LeftOut& left_out) {
    PlanChecker checker(question_.model, question_.stack);
    for (std::size_t i = 0; i < rows_.size(); ++i) {
        SweepRow& r = rows_[i];
        r.number = first_ + i;
        if (const auto status = left_out(r.number)) {
            r.status = *status;
            continue;
        }
        try {
            note(checker.check(plan_of(question_.space, question_.base, r.number)));
            r.status = RowStatus::ruled_out;
            any_valid_ = true;
        } catch (const Error& e) {
            if (e.kind() == ErrorKind::unsupported) throw;
            r.problem = e.problems()[0].what;
            if (!problem_) problem_ = e;
        }
    }
}

void Search::set(SweepRow& row, std::int64_t requested, const Phase& at) const {
    const RunShape run = run_shape(question_.model, question_.base);
    const auto peak = std::find_if(peaks_.begin(), peaks_.end(), [&](const Peak* p) { return p->covers(at, run); });
    row.status = RowStatus::simulated;
    row.requested = requested;
    if (peak != peaks_.end()) row.peak = *peak;
    row.utilization = question_.utilization(requested);
    if (requested > limit_) row.verdict = Verdict::too_large;
}

void Search::settle(std::size_t number) {
    SweepRow& row = at(number);
    if (!formulas_) {
        const TrainPlan plan = plan_of(question_.space, question_.base, number);
        const Summary summary = model::summarize(question_.model, plan, question_.stack, question_.device);
        set(row, summary.requested, summary.at);
        ++recorded_;
        return;
    }
    const std::size_t path = row.path = formulas_->path_of(number);
    while (classes_.size() <= path) classes_.emplace_back(question_.space);
    if (dominance_) row.ruled_out_by = classes_[path].proof_too_large(number);
    if (row.ruled_out_by) {
        row.verdict = Verdict::too_large;
        return;
    }
    const Highest highest = formulas_->highest();
    set(row, highest.requested, highest.at);
    if (highest.requested > limit_ && formulas_->floor() > limit_) classes_[path].add_too_large(number);
}

void Search::settle(const std::function<bool()>& settled) {
    bool go_on = true;
    for (const std::size_t row : by_rising_axes()) {
        const bool waits = at(row).status == RowStatus::ruled_out;  // as validate() leaves those that are valid
        if (waits && go_on)
            settle(row);
        else if (waits)
            at(row).status = RowStatus::open;
        go_on = settled() && go_on;
    }
}

}  // namespace vramfit
