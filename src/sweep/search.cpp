// Best-first search with proofs from dominance.
#include "sweep/search.hpp"

#include <algorithm>
#include <cmath>

#include "model/record.hpp"
#include "sweep/classes.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/peaks/peak.hpp"
#include "vramfit/spec/plan_check.hpp"

namespace vramfit {

namespace {

std::string peak_of(const Phase& phase, const SweepQuestion& question) {
    const RunShape run{static_cast<std::int32_t>(question.model.num_hidden_layers),
                       question.base.load.quantization.has_value()};
    for (const Peak* peak : peaks_in_order())
        if (peak->covers(phase, run)) return peak->name;
    return name_of(phase);
}

}  // namespace

Search::Search(const SweepQuestion& question, const SweepOptions& options, SweepResult& result)
    : question_(question), options_(options), result_(result), limit_(question.device.usable.count) {
    validate();
    if (!options_.prune) return;
    make_classes();
    corners();
}

/// One note of a kind is enough: that of the last row, which is the longest where lengths rise.
void Search::note(const Notes& notes) {
    for (const Note& n : notes) {
        const auto same = [&n](const Note& other) { return other.kind == n.kind; };
        std::erase_if(result_.notes, same);
        result_.notes.push_back(n);
    }
}

/// Rows that no run can have are marked with the reason; a space of only such rows is no question.
void Search::validate() {
    const std::size_t total = row_count(question_.space);
    result_.rows.resize(total);
    std::optional<Error> first;
    for (std::size_t row = 0; row < total; ++row) {
        SweepRow& r = result_.rows[row];
        r.number = row;
        try {
            note(check_plan(question_.model, plan_of(question_.space, question_.base, row), question_.stack));
            r.status = RowStatus::ruled_out;
            open_.insert(row);
        } catch (const Error& e) {
            if (e.kind() == ErrorKind::unsupported) throw;
            r.problem = e.problems()[0].what;
            if (!first) first = e;
        }
    }
    if (open_.empty()) throw *first;
}

void Search::make_classes() {
    std::vector<bool> valid(result_.rows.size(), false);
    for (const std::size_t row : open_) valid[row] = true;
    class_ = class_of_rows(question_, valid);
    for (const std::size_t row : open_) {
        while (classes_.size() <= class_[row]) classes_.emplace_back(question_.space);
        classes_[class_[row]].add(row);
    }
    estimates_.resize(question_.space.targets.size());
}

/// The smallest and the largest row of each set of targets give the estimates something to stand on.
void Search::corners() {
    const SweepSpace& space = question_.space;
    const auto ends = [](const std::vector<std::int64_t>& axis) {
        const auto [low, high] = std::minmax_element(axis.begin(), axis.end());
        return std::array{static_cast<std::size_t>(low - axis.begin()), static_cast<std::size_t>(high - axis.begin())};
    };
    const auto ranks = ends(space.ranks), batches = ends(space.batches), lengths = ends(space.lengths);
    for (std::size_t t = 0; t < space.targets.size(); ++t)
        for (int i = 0; i < 4; ++i) {
            const std::size_t rank = ranks[static_cast<std::size_t>(i & 1)];
            const std::size_t end = static_cast<std::size_t>(i >> 1);
            const std::size_t row =
                ((t * space.ranks.size() + rank) * space.batches.size() + batches[end]) * space.lengths.size() +
                lengths[end];
            if (open_.count(row)) record(row);
        }
}

void Search::record(std::size_t row) {
    const TrainPlan plan = plan_of(question_.space, question_.base, row);
    const Summary summary = model::summarize(question_.model, plan, question_.stack, question_.device);
    SweepRow& r = result_.rows[row];
    r.status = RowStatus::simulated;
    r.ruled_out_by.reset();
    r.requested = summary.requested;
    r.peak = peak_of(summary.at, question_);
    r.utilization = static_cast<double>(summary.requested) / static_cast<double>(limit_);
    open_.erase(row);
    if (summary.requested > limit_)
        r.verdict = Verdict::too_large;
    else
        fitting_.insert(summary.requested);
    if (options_.prune) {
        classes_[class_[row]].learn(row, {summary.requested, summary.with_managed, summary.without_states});
        const Coordinates c = coordinates_of(question_.space, row);
        estimates_[c.target].learn(question_.space.batches[c.batch] * question_.space.lengths[c.length],
                                   question_.space.ranks[c.rank], summary.requested);
    }
    report();
}

/// The requested bytes that a row must have to be among the `wanted` largest that are known; 0 while there are fewer.
std::int64_t Search::threshold(std::size_t wanted) const {
    if (wanted == 0 || fitting_.size() < wanted) return 0;
    return *std::next(fitting_.rbegin(), static_cast<std::ptrdiff_t>(wanted) - 1);
}

void Search::rule_out() {
    const std::int64_t lowest = threshold(wanted_);
    for (auto it = open_.begin(); it != open_.end();) {
        SweepRow& r = result_.rows[*it];
        const DominanceClass& own = classes_[class_[*it]];
        if (const auto proof = own.proof_too_large(*it, limit_)) {
            r.ruled_out_by = proof;
            r.why = RuledOut::too_large;
            r.verdict = Verdict::too_large;
        } else if (const auto below = own.proof_below(*it, lowest)) {
            r.ruled_out_by = below;
            r.why = RuledOut::outranked;
        } else {
            ++it;
            continue;
        }
        it = open_.erase(it);
    }
}

/// The open row whose estimate is closest to the limit.
std::optional<std::size_t> Search::next() const {
    std::optional<std::size_t> best;
    double closest = 0;
    for (const std::size_t row : open_) {
        const Coordinates c = coordinates_of(question_.space, row);
        const double guess = estimates_[c.target].guess(
            question_.space.batches[c.batch] * question_.space.lengths[c.length], question_.space.ranks[c.rank]);
        const double distance = std::abs(guess - static_cast<double>(limit_));
        if (!best || distance < closest) {
            best = row;
            closest = distance;
        }
    }
    return best;
}

void Search::settle(std::size_t wanted) {
    if (!options_.prune) {
        while (!open_.empty()) record(*open_.begin());
        return;
    }
    for (SweepRow& r : result_.rows)
        if (r.status == RowStatus::ruled_out && r.ruled_out_by && r.why == RuledOut::outranked) {
            r.ruled_out_by.reset();
            open_.insert(r.number);
        }
    wanted_ = wanted;
    for (;;) {
        rule_out();
        const auto row = next();
        if (!row) return;
        record(*row);
    }
}

std::vector<std::size_t> Search::candidates() const {
    std::vector<std::size_t> out;
    for (const SweepRow& r : result_.rows)
        if (r.status == RowStatus::simulated && r.requested <= limit_) out.push_back(r.number);
    std::stable_sort(out.begin(), out.end(), [this](std::size_t a, std::size_t b) {
        return result_.rows[a].requested > result_.rows[b].requested;
    });
    return out;
}

void Search::report() const {
    if (options_.progress) options_.progress({result_.rows.size() - open_.size(), result_.rows.size()});
}

}  // namespace vramfit
