// The order of candidates, and what the ranking still wants.
#include "sweep/ranking.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "base/parallel.hpp"

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

/// Verdicts of candidates, several at once: one for each thread, and the more of them the longer the search has been,
/// as threads that wait for the slowest of a few are idle. At most an eighth is decided in vain.
class Ahead {
  public:
    explicit Ahead(const Deciding& deciding) : deciding_(deciding) {}

    /// The row made certain. `next` adds what is likely to be asked for after it, to the number of rows at once.
    template <class Next>
    SweepRow row(const SweepRow& asked, const Next& next) {
        if (!known_.contains(asked.number)) {
            known_.clear();
            std::vector<SweepRow> rows = {asked};
            if (deciding_.threads > 1) next(rows, std::max(deciding_.threads, decided_ / 8));
            decided_ += rows.size();
            for_each_index(rows.size(), deciding_.threads, [&](std::size_t i) { deciding_.decide(rows[i]); });
            for (SweepRow& row : rows) known_.emplace(row.number, std::move(row));
        }
        return known_.at(asked.number);
    }

  private:
    const Deciding& deciding_;
    std::size_t decided_ = 0;
    std::map<std::size_t, SweepRow> known_;
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
void rank_rows(std::span<const SweepQuestion> questions, const SweepSelection& selection,
               std::vector<std::size_t> candidates, const Deciding& deciding, const std::function<bool()>& stop,
               SweepResult& result) {
    std::sort(candidates.begin(), candidates.end());
    const Keys keys(questions, selection, result, candidates);
    std::vector<std::size_t> order(candidates.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&keys](std::size_t a, std::size_t b) {
        const auto first = keys.of(a), second = keys.of(b);
        return std::lexicographical_compare(first.begin(), first.end(), second.begin(), second.end(), std::greater<>());
    });
    Picks picks(selection, deciding.all);
    Ahead ahead(deciding);
    const auto row_of = [&](std::size_t turn) -> SweepRow& { return result.rows[candidates[order[turn]]]; };
    const auto wanted = [&](std::size_t turn) {
        const SweepRow& row = row_of(turn);
        return picks.wants(keys.of(order[turn]), {row.question, result.place_of(row)});
    };
    for (std::size_t turn = 0; turn < order.size() && !picks.done(); ++turn) {
        SweepRow& row = row_of(turn);
        const bool wants = wanted(turn);
        if (!wants && !deciding.all) continue;
        if (stop && stop()) {
            result.stopped = true;
            break;
        }
        if (deciding.decide) {
            ++result.counts.replayed;
            row = ahead.row(row, [&](std::vector<SweepRow>& rows, std::size_t most) {
                for (std::size_t later = turn + 1; later < order.size() && rows.size() < most; ++later)
                    if (deciding.all || wanted(later)) rows.push_back(row_of(later));
            });
            if (row.verdict != Verdict::fits) continue;
        }
        if (!wants) continue;
        result.ranking.push_back(row.number);
        picks.take(keys.of(order[turn]), {row.question, result.place_of(row)});
    }
    if (selection.group) order_by_group(selection, result);
}

}  // namespace vramfit
