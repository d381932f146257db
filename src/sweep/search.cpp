// Rows by rising axes, so that proofs come before what follows from them.
#include "sweep/search.hpp"

#include <algorithm>
#include <numeric>

#include "model/record.hpp"
#include "predict/peaks.hpp"
#include "vramfit/peaks/peak.hpp"
#include "vramfit/spec/plan_check.hpp"

namespace vramfit {

namespace {

/// The places of an axis' values by rising value.
std::vector<std::size_t> by_rising_value(const std::vector<std::int64_t>& axis) {
    std::vector<std::size_t> order(axis.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&axis](std::size_t a, std::size_t b) { return axis[a] < axis[b]; });
    return order;
}

}  // namespace

/// Rows by rising batch, length and rank, whatever the order in which the axes are given: most of a formula does not
/// change with the rank.
std::vector<std::size_t> Search::by_rising_axes() const {
    const SweepSpace& space = question_.space;
    const auto ranks = by_rising_value(space.ranks), lengths = by_rising_value(space.lengths);
    const std::size_t target = coordinates_of(space, first_).target;
    std::vector<std::size_t> order;
    order.reserve(rows_.size());
    for (const std::size_t batch : by_rising_value(space.batches))
        for (const std::size_t length : lengths)
            for (const std::size_t rank : ranks) order.push_back(row_at(space, {target, rank, batch, length}));
    return order;
}

Search::Search(const SweepQuestion& question, std::size_t target, std::span<SweepRow> rows, const SweepOptions& options,
               const LeftOut& left_out, std::function<TargetFormulas::TakeProgram()> take)
    : question_(question),
      dominance_(options.dominance),
      limit_(question.device.usable_high().count),
      peaks_(peaks_in_order()),
      first_(row_at(question.space, {.target = target})),
      rows_(rows) {
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

/// The peak to which a moment belongs: there are as many moments as formulas have, asked for by every row.
const Peak* Search::peak_at(const Phase& at) {
    for (const auto& [phase, peak] : known_peaks_)
        if (phase == at) return peak;
    const RunShape run = run_shape(question_.model, question_.base);
    const auto peak = std::find_if(peaks_.begin(), peaks_.end(), [&](const Peak* p) { return p->covers(at, run); });
    known_peaks_.emplace_back(at, peak == peaks_.end() ? nullptr : *peak);
    return known_peaks_.back().second;
}

void Search::set(SweepRow& row, std::int64_t requested, const Phase& at, const BesideLoss& beside_loss) {
    row.status = RowStatus::simulated;
    row.requested = requested;
    row.peak = peak_at(at);
    row.utilization = question_.utilization(requested);
    if (requested <= limit_ || may_fit_leaner(question_, row.number, beside_loss, limit_)) return;
    row.verdict = Verdict::too_large;
}

void Search::settle(std::size_t number) {
    SweepRow& row = at(number);
    if (!formulas_) {
        const TrainPlan plan = plan_of(question_.space, question_.base, number);
        const Summary summary = model::summarize(question_.model, plan, question_.stack, question_.device);
        set(row, summary.requested, summary.at,
            [&] { return summary.at.kind == PhaseKind::head ? 0 : summary.requested; });
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
    set(row, highest.requested, highest.at, [this] { return formulas_->highest_but_in(PhaseKind::head); });
    if (at(number).verdict == Verdict::too_large && formulas_->floor() > limit_) classes_[path].add_too_large(number);
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
