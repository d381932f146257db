// The order of candidates, and what the ranking still wants.
#include "sweep/ranking.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace vramfit {

namespace {

/// The measures by which rows are put in order: the front's axes, then what is sorted by, then use of the card.
std::vector<const SweepMeasure*> keys_of(const SweepSelection& selection) {
    std::vector<const SweepMeasure*> out = selection.pareto;
    if (selection.sort) out.push_back(selection.sort);
    out.push_back(find_measure("capacity"));
    return out;
}

/// Values of a row's keys, row by row.
class Keys {
  public:
    Keys(std::span<const SweepQuestion> questions, const SweepSelection& selection, const SweepResult& result,
         const std::vector<std::size_t>& numbers)
        : count_(keys_of(selection).size()) {
        const std::vector<const SweepMeasure*> keys = keys_of(selection);
        values_.reserve(count_ * numbers.size());
        for (const std::size_t number : numbers) {
            const SweepRow& row = result.rows[number];
            for (const SweepMeasure* key : keys)
                values_.push_back(value_of(*key, questions[row.question], result.place_of(row), row));
        }
    }
    std::span<const double> of(std::size_t at) const { return std::span(values_).subspan(at * count_, count_); }

  private:
    std::size_t count_;
    std::vector<double> values_;
};

/// What the ranking wants: rows that are not excelled, the first of each group, the first of all.
class Picks {
  public:
    Picks(const SweepSelection& selection, bool all) : selection_(selection), limit_(all ? 0 : selection.top) {}

    bool done() const { return selection_.pareto.empty() && !selection_.group && limit_ > 0 && taken_ >= limit_; }
    bool wants(std::span<const double> keys, RowPlace place) const {
        if (selection_.group) {
            const auto known = by_group_.find(selection_.group(place));
            if (selection_.top > 0 && known != by_group_.end() && known->second >= selection_.top) return false;
        }
        const std::size_t axes = selection_.pareto.size();
        return axes == 0 || std::none_of(front_.begin(), front_.end(), [&](const std::vector<double>& best) {
                   return std::equal(best.begin(), best.end(), keys.begin(), std::greater_equal<>());
               });
    }
    void take(std::span<const double> keys, RowPlace place) {
        ++taken_;
        if (selection_.group) ++by_group_[selection_.group(place)];
        const auto axes = static_cast<std::ptrdiff_t>(selection_.pareto.size());
        if (axes > 0) front_.emplace_back(keys.begin(), keys.begin() + axes);
    }

  private:
    const SweepSelection& selection_;
    std::size_t limit_;
    std::size_t taken_ = 0;
    std::map<std::size_t, std::size_t> by_group_;
    std::vector<std::vector<double>> front_;  ///< values of the front's axes
};

void order_by_group(const SweepSelection& selection, SweepResult& result) {
    const auto group_of = [&](std::size_t number) {
        const SweepRow& row = result.rows[number];
        return selection.group({row.question, result.place_of(row)});
    };
    std::stable_sort(result.ranking.begin(), result.ranking.end(),
                     [&](std::size_t a, std::size_t b) { return group_of(a) < group_of(b); });
}

}  // namespace

// In this order no row excels one before it, so that what is taken stays in the front.
void rank_rows(std::span<const SweepQuestion> questions, const SweepSelection& selection, bool all,
               std::vector<std::size_t> candidates, const std::function<bool(SweepRow&)>& fits,
               const std::function<bool()>& stop, SweepResult& result) {
    std::sort(candidates.begin(), candidates.end());
    const Keys keys(questions, selection, result, candidates);
    std::vector<std::size_t> order(candidates.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&keys](std::size_t a, std::size_t b) {
        const auto first = keys.of(a), second = keys.of(b);
        return std::lexicographical_compare(first.begin(), first.end(), second.begin(), second.end(), std::greater<>());
    });
    Picks picks(selection, all);
    for (const std::size_t at : order) {
        if (picks.done()) break;
        SweepRow& row = result.rows[candidates[at]];
        const RowPlace place{row.question, result.place_of(row)};
        const bool wanted = picks.wants(keys.of(at), place);
        if (!wanted && !all) continue;
        if (stop && stop()) {
            result.stopped = true;
            break;
        }
        if (!fits(row) || !wanted) continue;
        result.ranking.push_back(row.number);
        picks.take(keys.of(at), place);
    }
    if (selection.group) order_by_group(selection, result);
}

}  // namespace vramfit
